package awserr

// Tagged is nil where an answer of S3 names what it made: an object's or a part's tag, an upload's id. Its
// writes have no other content, so that the SDK takes any page with a status of success for one. Without
// it nobody knows whether anything was written.
func Tagged(tag *string) error {
	if tag != nil && *tag != "" {
		return nil
	}
	return errUntagged{}
}

// errUntagged is an answer that is not the service's.
type errUntagged struct{}

func (errUntagged) Error() string { return "the answer does not name what was written: it is not S3's" }

// RetryableError has the call tried again.
func (errUntagged) RetryableError() bool { return true }
