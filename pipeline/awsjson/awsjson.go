// Package awsjson stands between the AWS SDK and its HTTP client, and believes an answer of DynamoDB only
// if it is one: the SDK takes an empty body, a page of some proxy or {} with status 200 for a success
// of whatever was asked.
package awsjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
)

// Doer is an HTTP client, as the SDK's packages have it.
type Doer interface {
	Do(req *http.Request) (*http.Response, error)
}

// Believe gives a client of DynamoDB answers that can be believed: what has a status of success is the
// service's JSON, whole, with what the service always says in an answer to that call. Anything else is an
// error, which the SDK and the pipeline try again. Whether the call was executed is not known then.
//
// Answers of other statuses pass as they are: what no code is in is judged by whoever reads codes.
func Believe(client Doer) Doer { return believer{client} }

type believer struct{ client Doer }

// always is a member that an answer to a call has, whatever it found: an answer without it says nothing.
var always = map[string]string{
	"BatchGetItem":       "Responses",
	"CreateTable":        "TableDescription",
	"DescribeTable":      "Table",
	"DescribeTimeToLive": "TimeToLiveDescription",
	"Query":              "Count",
	"Scan":               "Count",
	"UpdateTimeToLive":   "TimeToLiveSpecification",
}

// Do sends a request, and reads its answer whole.
func (b believer) Do(req *http.Request) (*http.Response, error) {
	resp, err := b.client.Do(req)
	if err != nil || resp.StatusCode < 200 || resp.StatusCode > 299 {
		return resp, err
	}
	var body bytes.Buffer
	if n := resp.ContentLength; n > 0 && n < 64<<20 {
		body.Grow(int(n) + bytes.MinRead)
	}
	_, err = body.ReadFrom(resp.Body)
	_ = resp.Body.Close() // what was read is judged
	if err != nil {
		return nil, &Error{resp.StatusCode, fmt.Errorf("reading it: %w", err)}
	}
	_, op, _ := strings.Cut(req.Header.Get("X-Amz-Target"), ".")
	if err := check(body.Bytes(), always[op]); err != nil {
		return nil, &Error{resp.StatusCode, err}
	}
	resp.Body = io.NopCloser(&body)
	return resp, nil
}

// check is nil for one JSON object, with a member of that name where one is named.
func check(body []byte, member string) error {
	switch trimmed := bytes.TrimSpace(body); {
	case len(trimmed) == 0:
		return fmt.Errorf("it is empty")
	case trimmed[0] != '{' || !json.Valid(trimmed):
		return fmt.Errorf("it is no JSON object")
	case member != "" && !bytes.Contains(trimmed, []byte(`"`+member+`"`)):
		return fmt.Errorf("it lacks %s", member)
	}
	return nil
}

// Error is an answer with a status of success that cannot be believed. It holds nothing of its body.
type Error struct {
	Status int
	Err    error
}

// Error says what is wrong with the answer.
func (e *Error) Error() string {
	return fmt.Sprintf("an answer with status %d that is not the service's: %v", e.Status, e.Err)
}

// Unwrap is why.
func (e *Error) Unwrap() error { return e.Err }

// Redacted is Error: it shows nothing of the answer.
func (e *Error) Redacted() string { return e.Error() }

// RetryableError has the SDK try again.
func (e *Error) RetryableError() bool { return true }
