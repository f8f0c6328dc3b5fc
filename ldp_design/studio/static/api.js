/** Requests to the studio's server; an error carries the sentence that the server gives. */
async function send(method, path, body, type) { // with keepalive, even if the page is closed meanwhile
  const headers = body === undefined ? {} : { "Content-Type": type };
  const response = await fetch(path, { method, body, headers, keepalive: body?.length < 20_000 })
    .catch(() => { throw new Error(""); });
  if (response.ok) return response;
  const { message } = await response.json().catch(() => ({ message: "" }));
  throw new Error(message);
}
export const get = async (path) => (await send("GET", path)).json();
const sendObject = (path, body) => send("POST", path, JSON.stringify(body), "application/json");
export const post = async (path, body = {}) => (await sendObject(path, body)).json();
export const download = async (path, body) => (await sendObject(path, body)).blob();
export const postFile = async (path, file) => (await send("POST", path, file, "application/octet-stream")).json();

/** Call a function with each line of a JSON stream, while it arrives. */
export async function readLines(path, take, signal) {
  const response = await fetch(path, { signal });
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    for (const item of lines.map(JSON.parse)) {
      if (item.message) throw new Error(item.message);
      take(item);
    }
  }
}
