// Sends mails with nodemailer's pool: `node … drain` sends MAILS mails over CONNECTIONS connections to the SMTP server
// at RELAY, as many at once.

const { createTransport } = require("nodemailer");

const mails = Number(process.env.MAILS);
const connections = Number(process.env.CONNECTIONS);
const [host, port] = process.env.RELAY.split(":");

async function drain() {
  const transport = createTransport({
    host,
    port: Number(port),
    ignoreTLS: true,
    pool: true,
    maxConnections: connections,
    maxMessages: Infinity,
  });
  const mail = {
    from: "from@example.org",
    to: "to@example.org",
    subject: "A subject of an ordinary length for a bench row",
    text: process.env.BODY,
  };
  await untilStarted();
  let begun = 0;
  const sender = async () => {
    while (begun < mails) {
      begun += 1;
      await transport.sendMail(mail);
      count(1);
    }
  };
  // Two mails for each connection, so that none waits for the next mail.
  await Promise.all(Array.from({ length: connections * 2 }, sender));
}

main({ drain });
