/** The actions of the audit log in words. What is not here is shown by its name. */

/** @type {Record<string, string>} */
export const ACTIONS = {
  "operator.invited": "invited", "operator.joined": "joined", "operator.signed_in": "signed in", "operator.sign_in_failed": "failed to sign in",
  "operator.signed_out": "signed out", "operator.changed": "changed the operator", "operator.removed": "removed the operator", "operator.reset": "reset",
  "operator.password_changed": "changed the password of", "operator.factor_added": "added a second factor to", "operator.factor_removed": "removed a second factor of",
  "token.created": "made the token", "token.revoked": "revoked the token",
  "project.created": "made the project", "project.renamed": "renamed the project", "project.deleted": "deleted the project",
  "settings.changed": "changed settings of", "key.created": "made the key", "key.revoked": "revoked the key", "key.rotated": "replaced the secret keys by",
  "signing_key.rotated": "rotated the signing key of", "provider.set": "set the provider", "provider.removed": "removed the provider",
  "collection.created": "made the collection", "collection.changed": "changed the collection", "collection.deleted": "deleted the collection",
  "rules.changed": "changed the rules of", "profile.changed": "changed the schema of profiles of", "aggregation.saved": "saved the aggregation", "aggregation.deleted": "deleted the aggregation",
  "user.acted_as": "acted as", "mailbox.read": "read the mailbox of", "backup.made": "made the backup", "project.restored": "restored", "project.cloned": "copied",
  "backup.failed": "failed to make a backup of", "backup.downloaded": "downloaded the backup", "backup.changed": "changed the backup", "backup.deleted": "deleted the backup", "import.begun": "began the import into", "import.ended": "ended the import into",
};

/** @type {Record<string, string>} Operations on a project's data that the log notes. */
const OPERATIONS = {
  createDocument: "created a document in", mergeDocument: "changed a document in", replaceDocument: "replaced a document in", upsertDocument: "created or replaced a document in",
  deleteDocument: "deleted a document in", bulkUpdateDocuments: "changed documents in", bulkDeleteDocuments: "deleted documents in", importDocuments: "imported documents into",
  exportDocuments: "exported documents of", runBatch: "ran a batch in", listChanges: "read the feed of",
  createUser: "created a user in", changeUser: "changed a user of", deleteUser: "deleted a user of", replacePassword: "set a user's password in", replaceRoles: "gave roles to a user of",
  makeLink: "made a link for a user of", endSessionsOfUser: "ended the sessions of a user of", removeFactorsOfUser: "removed the second factors of a user of",
};

/** @param {string} action @returns {string} `data.createDocument` gives `created a document in`. */
export function describeAction(action) {
  const [kind, operation = ""] = action.split(".");
  if (ACTIONS[action] || (kind !== "data" && kind !== "acting")) return ACTIONS[action] ?? action;
  const words = OPERATIONS[operation] ?? `${operation.replace(/([A-Z])/g, " $1").toLowerCase()} in`;
  return `${kind === "acting" ? "as a user: " : ""}${words}`;
}
