// Sign-in: exchanges an API key for a session. Without scripts, the form itself does that.

import { login } from "./api.js";

const form = document.querySelector("form");
const error = document.getElementById("mistake");
const button = form.querySelector("button");

if (new URLSearchParams(location.search).has("ended")) error.textContent = "Your session has ended. Sign in again.";

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  error.textContent = "";
  document.querySelector(".notice")?.remove();
  button.disabled = true;
  try {
    await login(form.elements.key.value.trim());
    // Continue at the page that the link pointed to.
    location.assign(`/${location.hash}`);
  } catch (problem) {
    error.textContent = problem.status === 401 ? "Invalid or revoked API key" : problem.message;
    button.disabled = false;
    form.elements.key.select();
  }
});
