// The health check of the first member: makes the replica set when there is none yet, and is content with a primary.
// For mongosh --nodb. A member that was restarted finds the set there and changes nothing.
const { readFileSync } = require("fs");

const NOT_YET_INITIALIZED = 94;
const members = (process.env.MEMBERS || "mongo-1:27017,mongo-2:27017,mongo-3:27017").split(",");
const secret = process.env.MONGO_INITDB_ROOT_PASSWORD_FILE;
const password = encodeURIComponent(readFileSync(secret, "utf8").trim());
const local = process.env.LOCAL_MEMBER || "127.0.0.1:27017";
const admin = connect(`mongodb://admin:${password}@${local}/admin?directConnection=true&serverSelectionTimeoutMS=5000`);

function initiate() {
  admin.adminCommand({
    replSetInitiate: {
      _id: "rs0",
      members: members.map((host, index) => ({ _id: index, host, priority: index === 0 ? 2 : 1 })),
      // A new primary three seconds after one was lost, instead of ten.
      settings: { electionTimeoutMillis: 3000 },
    },
  });
}

try {
  admin.adminCommand({ replSetGetStatus: 1 });
} catch (error) {
  if (error.code !== NOT_YET_INITIALIZED) throw error;
  initiate();
}
quit(admin.hello().primary ? 0 : 1);
