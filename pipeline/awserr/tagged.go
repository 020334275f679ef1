package awserr

// CheckTagged returns nil if an answer of S3 has the tag of the written object or part, or the id of the upload.
// Answers to writes have no other content, so the SDK accepts any page with a status of success. If the tag is missing,
// it is unknown whether S3 wrote anything, so the error makes the SDK retry.
func CheckTagged(tag *string) error {
	if tag != nil && *tag != "" {
		return nil
	}
	return errUntagged{}
}

// errUntagged is the error of an answer that does not come from S3.
type errUntagged struct{}

func (errUntagged) Error() string { return "the answer does not name what was written: it is not S3's" }

// RetryableError makes the SDK retry the call.
func (errUntagged) RetryableError() bool { return true }
