"""The declaration of web/files."""

from service.domain.files.types import FILE_TYPES
from service.errors import Busy, FileNotFound, Invalid, QueryTooSlow, RangeNotSatisfiable, Unavailable
from service.web.files.bodies import SignedUrls, UrlsForm
from service.web.openapi import tags
from service.web.openapi.declaration import Content, ErrorExample, Operation, Parameter, SuccessResponse

MEDIA_TYPES = sorted({file_type.media_type for file_type in FILE_TYPES.values()})
# Generators that know no image type find bytes under the last, which no file is sent as.
BYTES = tuple(
    Content(schema={"type": "string", "format": "binary"}, media_type=media_type)
    for media_type in (*MEDIA_TYPES, "application/octet-stream")
)
HEADERS = {
    "ETag": "Tells this file from every other; a name is never given to other bytes",
    "Content-Disposition": "The name it was uploaded under; images are shown, others are saved",
    "Accept-Ranges": "bytes",
}

READ = Operation(
    id="readFile",
    tag=tags.FILES,
    description="The URL of a file is public and cannot be guessed, unless the project's rules protect the field it was "
    "uploaded to: then answers carry it signed, and it opens the file for a while. One range can be asked for (RFC 9110 "
    "section 14).",
    parameters=(
        Parameter(
            name="expires", description="Of a signed URL: its last second, since 1970.", schema={"type": "string"}
        ),
        Parameter(name="signature", description="Of a signed URL.", schema={"type": "string"}),
        Parameter(
            name="variant",
            description="A variant of an image that its collection declares; 422 where the image cannot be decoded.",
            schema={"type": "string"},
            example="thumb",
        ),
        Parameter(
            name="Range",
            location="header",
            description="`bytes=<first>-<last>`, `bytes=<first>-` or `bytes=-<length>`.",
            schema={"type": "string"},
            example="bytes=0-1023",
        ),
        Parameter(
            name="If-None-Match",
            location="header",
            description="The `ETag` of a file that the client has.",
            schema={"type": "string"},
        ),
    ),
    answers=(
        SuccessResponse(description="The whole file", content=BYTES, headers=HEADERS),
        SuccessResponse(
            status=206,
            description="The range",
            content=BYTES,
            headers={**HEADERS, "Content-Range": "Which bytes of how many"},
        ),
        SuccessResponse(status=304, description="The client has it", headers=HEADERS),
    ),
    errors=(FileNotFound, ErrorExample(RangeNotSatisfiable, 1024), Invalid, Busy, Unavailable),
)
PLAIN = "https://api.example.com/files/demo-0123456789abcdef0123456789abcdef.pdf"
SIGN = Operation(
    id="signFileUrls",
    tag=tags.FILES,
    description="By the secret key, of any file of the project; by a user, of the user's own, and of those that the rules let "
    "the user read in other users. Refused as a whole where one URL is of no such file.",
    body=(Content(type=UrlsForm, examples={"a day": {"urls": [PLAIN], "expires_in": 86_400}}),),
    answers=(
        SuccessResponse(
            description="The URLs, each good for so many seconds from now",
            content=(
                Content(
                    type=SignedUrls,
                    examples={
                        "a day": {
                            "urls": {
                                PLAIN: f"{PLAIN}?expires=1798761600&signature=h0fYx2mq3cJ7nq1o7Yx5kC2mJ8v1dF4sT6uW9zB0aEg"
                            }
                        }
                    },
                ),
            ),
        ),
    ),
    errors=(FileNotFound, Busy, QueryTooSlow),
)
