// Takes the next step of a sweep as soon as the page shows the last one. Without it there is a button.
"use strict";

document.getElementById("sweep")?.requestSubmit();
