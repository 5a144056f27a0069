// The door: a key is exchanged for a session. Without scripts the form itself does that.

import { login } from "./api.js";

const form = document.querySelector("form");
const mistake = document.getElementById("mistake");
const button = form.querySelector("button");

if (new URLSearchParams(location.search).has("ended")) mistake.textContent = "Your session has ended. Sign in again.";

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  mistake.textContent = "";
  document.querySelector(".notice")?.remove();
  button.disabled = true;
  try {
    await login(form.elements.key.value.trim());
    // To where the link led that one came by.
    location.assign(`/${location.hash}`);
  } catch (error) {
    mistake.textContent = error.status === 401 ? "Invalid or revoked API key" : error.message;
    button.disabled = false;
    form.elements.key.select();
  }
});
