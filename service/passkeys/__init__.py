"""Passkeys (WebAuthn): what a browser is asked for, and whether what it brings back is good. Pure, and knows no users.

options        what a browser is to be asked, as JSON
answers        what a browser says, as bytes; and the passkeys that come of it
verification   the judge, who needs fido2: imported when the first passkey is judged, not before
"""
