package awserr

import (
	"slices"
	"strings"
)

// codes lists the codes of each kind. They say more than an HTTP status. They come from the services' API references
// and their lists of common errors.
var codes = map[Kind][]string{
	Transient: {
		"Throttling", "ThrottlingException", "ThrottledException", "Throttled", "RequestThrottled",
		"RequestThrottledException", "TooManyRequestsException",
		"RequestLimitExceeded", "LimitExceededException", "BandwidthLimitExceeded", "SlowDown", "OverLimit",
		"PriorRequestNotComplete", "KmsThrottled", "KMSThrottling", "KMSThrottlingException", "KMSThrottlingFault",
		"InternalError", "InternalErrorException", "InternalException", "InternalFailure", "InternalServerError",
		"ServiceUnavailable", "ServiceUnavailableException",
		"RequestTimeout", "RequestTimeoutException", "RequestTimeTooSkewed", "ConcurrentAccess", "ConcurrentAccessException",
		"ResourceInUseException", "TransactionConflictException", "ReplicatedWriteConflictException",
		"ConcurrentModificationException", "OperationAborted", "BadDigest", "XAmzContentChecksumMismatch", "IncompleteBody",
	},
	Denied: {
		"AccessDenied", "AccessDeniedException", "AuthorizationError", "AuthorizationErrorException", "NotAuthorized",
		"NotAuthorizedForSource",
		// XAdminUserNotFound is a code of versitygw: the access key does not exist
		"UnrecognizedClientException", "InvalidClientTokenId", "InvalidAccessKeyId", "XAdminUserNotFound",
		"InvalidSignatureException", "SignatureDoesNotMatch", "IncompleteSignature", "IncompleteSignatureException",
		"MissingAuthenticationToken", "MissingAuthenticationTokenException", "ExpiredToken", "ExpiredTokenException",
		"InvalidToken", "OptInRequired", "InvalidSecurity", "InvalidSecurityException", "AllAccessDisabled", "AccountProblem",
	},
	Missing: {
		"NonExistentQueue", "QueueDoesNotExist", "QueueDeletedRecently", "InvalidAddress",
		"NotFound", "NotFoundException", "ResourceNotFoundException", "NoSuchBucket", "PermanentRedirect",
	},
}

// KindOfCode returns the kind of a code. A code of KMS is Denied, unless codes lists it. known is false for any other
// code that codes does not list. The HTTP status of the answer says as much as such a code.
func KindOfCode(code string) (kind Kind, known bool) {
	code = withoutNamespace(code)
	if code == "" {
		return Refused, false
	}
	for kind, ofKind := range codes {
		if slices.Contains(ofKind, code) {
			return kind, true
		}
	}
	if strings.HasPrefix(strings.ToUpper(code), "KMS") {
		return Denied, true // the key is disabled, missing, or not to be used
	}
	return Refused, false
}
