// The browser's own voice.

/** Read a text; `spoken` is told the place of each word as it comes, `done` when it is over, however it ends. */
export function speak(text, spoken, done) {
  const said = new SpeechSynthesisUtterance(text);
  said.lang = "en";
  said.onboundary = (event) => {
    if (event.name !== "word" && event.name !== undefined) return;
    spoken(text.slice(0, event.charIndex).split(/\s+/).filter(Boolean).length);
  };
  said.onend = said.onerror = done;
  speechSynthesis.cancel();
  speechSynthesis.speak(said);
}

export const speaking = () => "speechSynthesis" in window && (speechSynthesis.speaking || speechSynthesis.pending);

export const stopSpeaking = () => {
  if ("speechSynthesis" in window) speechSynthesis.cancel();
};
