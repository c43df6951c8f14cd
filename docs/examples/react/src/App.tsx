import { type FormEvent, useState } from "react";
import { type Document, ServiceError } from "@auth-collections/client";
import { useLive, useSession } from "./hooks.js";
import type { Cards } from "./schema.js";
import { ac } from "./service.js";

const cards = ac.collection("cards");
type Attempt = (action: () => Promise<unknown>) => Promise<void>;

export default function App() {
  const session = useSession(), [problem, setProblem] = useState("");
  /** Shows why the service refused a call. */
  const attempt: Attempt = async (action) => {
    try {
      setProblem("");
      await action();
    } catch (error) {
      if (!(error instanceof ServiceError)) throw error;
      setProblem(error.message);
    }
  };
  return (
    <main>
      <h1>Team board</h1>
      <p role="alert">{problem}</p>
      {session === null && <SignIn attempt={attempt} />}
      {session && <Board attempt={attempt} />}
    </main>
  );
}

function SignIn({ attempt }: { attempt: Attempt }) {
  const [email, setEmail] = useState(""), [password, setPassword] = useState("");
  const signIn = (event: FormEvent) => {
    event.preventDefault();
    void attempt(() => ac.auth.login(email, password));
  };
  return (
    <form onSubmit={signIn}>
      <label>E-mail <input type="email" required autoComplete="username" value={email} onChange={(event) => setEmail(event.target.value)} /></label>
      <label>Password <input type="password" required autoComplete="current-password" value={password} onChange={(event) => setPassword(event.target.value)} /></label>
      <button>Sign in</button>
    </form>
  );
}

function Board({ attempt }: { attempt: Attempt }) {
  const { documents, state, problem } = useLive("cards", { sort_by: "created_at", limit: 100 });
  const [text, setText] = useState("");
  const add = (event: FormEvent) => {
    event.preventDefault();
    void attempt(() => cards.create({ text })).then(() => setText(""));
  };
  return (
    <>
      <p role="status">{problem?.message ?? state}</p>
      <form onSubmit={add}>
        <label>New card <input required maxLength={200} value={text} onChange={(event) => setText(event.target.value)} /></label>
        <button>Add</button>
        <button type="button" onClick={() => attempt(() => ac.auth.logout())}>Sign out</button>
      </form>
      <ul>{documents.map((card) => <Card key={card.id} card={card} attempt={attempt} />)}</ul>
    </>
  );
}

function Card({ card: { id, data }, attempt }: { card: Document<Cards>; attempt: Attempt }) {
  const tick = () => attempt(() => cards.update(id, { data: { done: !data.done } }));
  return (
    <li>
      <label><input type="checkbox" checked={data.done} onChange={tick} /> {data.text}</label>
      <button onClick={() => attempt(() => cards.delete(id))}>Delete</button>
    </li>
  );
}
