"""The groups of endpoints, in the order in which a reader meets them."""

ACCOUNTS = "Accounts"
SIGN_IN = "Sign-in"
MAILS = "Mails"
SESSIONS = "Sessions"
FACTORS = "Second factors"
USERS = "Users"
COLLECTIONS = "Collections"
DOCUMENTS = "Documents"
AGGREGATIONS = "Aggregations"
FILES = "Files"
ACCESS = "Access"
OPERATIONS = "Operations"
DOCUMENTATION = "Documentation"

TAGS = {
    ACCOUNTS: "Sign up, log in, and the profile of the user who is logged in.",
    SIGN_IN: "Sign in through the project's identity provider, over OAuth 2.0.",
    MAILS: "Prove an address and recover an account by mail, and look at the mails themselves.",
    SESSIONS: "Refresh a user token, end sessions and list them.",
    FACTORS: "Add second factors, sign in with them, and step up.",
    USERS: "List and query a project's users.",
    COLLECTIONS: "Declare containers for documents, each with a schema that the database enforces.",
    DOCUMENTS: "Create, query and change the documents of a collection.",
    AGGREGATIONS: "Group documents or users, and compute counts, sums and the like; save such questions.",
    ACCESS: "Say who may do what, and learn why.",
    FILES: "Read what users uploaded, and sign URLs of it.",
    OPERATIONS: "For those who run the service.",
    DOCUMENTATION: "This document, and the page that shows it.",
}
