// The door: a key is exchanged for a session. Without scripts the form itself does that.

import { login } from "./api.js";

const form = document.querySelector("form");
const mistake = document.getElementById("mistake");
const button = form.querySelector("button");

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  mistake.textContent = "";
  document.querySelector(".notice")?.remove();
  button.disabled = true;
  try {
    await login(form.elements.key.value.trim());
    location.assign("/");
  } catch (error) {
    mistake.textContent = error.status === 401 ? "That key opens nothing here. Is it whole, and not revoked?" : error.message;
    button.disabled = false;
    form.elements.key.select();
  }
});
