"""The console: the page with which operators administer the deployment, and its files."""
