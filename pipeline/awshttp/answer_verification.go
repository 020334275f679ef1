package awshttp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	"github.com/tablewake/tablewake/pipeline/bounded"
)

// Verify returns a client that accepts an answer with a 2xx status only if it comes from the service: DynamoDB, or
// another one that answers in JSON. Such an answer is one complete JSON object. It has the member that DynamoDB always
// returns for the call. Any other body is an [Error].
// The SDK and the pipeline then retry, although it is unknown whether the call was executed. Without Verify, the SDK
// accepts an empty body, a proxy's page or {} with status 200 as the success of any call.
//
// Answers with other statuses pass unchanged: package awserr decides what an answer without an error code means.
func Verify(client bounded.Doer) bounded.Doer { return verifier{client, bounded.Answer, checkOfCall} }

// checkOfCall returns the function that checks the body of the answer to a call.
func checkOfCall(req *http.Request) func([]byte) error {
	_, op, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	return func(body []byte) error { return check(body, required[op]) }
}

type verifier struct {
	client   bounded.Doer
	maxBytes int64                                  // maximum bytes that are read of an answer
	checkOf  func(*http.Request) func([]byte) error // returns the check of the answer to a request; nil: no check
}

// required maps calls of DynamoDB to a member that all their answers have.
var required = map[string]string{
	"BatchGetItem":       "Responses",
	"CreateTable":        "TableDescription",
	"DescribeTable":      "Table",
	"DescribeTimeToLive": "TimeToLiveDescription",
	"Query":              "Count",
	"Scan":               "Count",
	"UpdateTimeToLive":   "TimeToLiveSpecification",
}

// Do sends a request. If it checks the answer, it reads the whole answer first.
func (v verifier) Do(req *http.Request) (*http.Response, error) {
	resp, err := v.client.Do(req)
	if err != nil {
		return resp, err
	}
	isSuccess := resp.StatusCode >= 200 && resp.StatusCode <= 299
	check := v.checkOf(req)
	if !isSuccess || check == nil {
		return resp, nil
	}
	body, err := readWhole(resp, v.maxBytes)
	_ = resp.Body.Close() // the body was read
	if err != nil {
		return nil, &Error{resp.StatusCode, fmt.Errorf("reading it: %w", err)}
	}
	if err := check(body); err != nil {
		return nil, &Error{resp.StatusCode, err}
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// check returns nil if body is one JSON object. If member is not "", the object must have this member.
func check(body []byte, member string) error {
	switch trimmed := bytes.TrimSpace(body); {
	case len(trimmed) == 0:
		return fmt.Errorf("it is empty")
	case trimmed[0] != '{' || !json.Valid(trimmed):
		return fmt.Errorf("it is not a JSON object")
	case member != "" && !bytes.Contains(trimmed, []byte(`"`+member+`"`)):
		return fmt.Errorf("it lacks %s", member)
	}
	return nil
}

// Error is the error of an answer with a 2xx status that does not come from the service. It shows nothing of the body.
type Error struct {
	Status int
	Err    error
}

// Error describes the problem of the answer.
func (e *Error) Error() string {
	return fmt.Sprintf("an answer with status %d that is not the service's: %v", e.Status, e.Err)
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Redacted returns Error: the text holds no data.
func (e *Error) Redacted() string { return e.Error() }

// Describe returns the class.
func (e *Error) Describe() (class, field string) { return "foreign_answer", "" }

// RetryableError makes the SDK retry the call.
func (e *Error) RetryableError() bool { return true }

// VerifyS3 returns a client that accepts the answer of a listing, or of a read of tags, only if it is S3's whole
// document. Any other body of a 2xx answer is an [Error], so the SDK retries the call. Without VerifyS3, the SDK takes
// an empty body or a proxy's page for an empty listing, and the caller misses the objects.
func VerifyS3(client bounded.Doer) bounded.Doer {
	return verifier{client, bounded.Answer, func(req *http.Request) func([]byte) error {
		root := rootOf(req)
		if root == "" {
			return nil
		}
		return func(body []byte) error { return checkDocument(body, root) }
	}}
}

// checkDocument returns nil if body is a whole XML document whose root element is named root.
func checkDocument(body []byte, root string) error {
	hasStart := bytes.Contains(body, []byte("<"+root))
	hasEnd := bytes.HasSuffix(bytes.TrimSpace(body), []byte(root+">"))
	if !hasStart || !hasEnd {
		return fmt.Errorf("it is not a complete %s", root)
	}
	return nil
}

// rootOf returns the name of the root element in the answer to a request. It returns "" if the answer is not checked.
func rootOf(req *http.Request) string {
	query := req.URL.Query()
	switch {
	case req.Method != http.MethodGet:
		return ""
	case query.Has("list-type"):
		return "ListBucketResult"
	case query.Has("tagging"):
		return "Tagging"
	}
	return ""
}
