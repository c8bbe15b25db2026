// Puts a text on the clipboard; resolves to whether that worked. Some browsers deny local files the clipboard.
const toClipboard = async (text) => {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    return false;
  }
};

// Buttons that copy a command. Without a clipboard the text is selected, so that Ctrl+C copies it.
const copying = () => {
  for (const copy of document.querySelectorAll("[data-copies]")) {
    const command = document.querySelector(`[data-copied="${copy.dataset.copies}"]`);
    copy.hidden = false;
    copy.addEventListener("click", async () => {
      const done = await toClipboard(command.textContent);
      if (!done) getSelection().selectAllChildren(command);
      copy.textContent = done ? "Copied" : "Selected";
    });
  }
};
