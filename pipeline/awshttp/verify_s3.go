package awshttp

import (
	"bytes"
	"fmt"
	"io"
	"net/http"

	"github.com/tablewake/tablewake/pipeline/bounded"
)

// VerifyS3 returns a client that accepts the answer of a listing, or of a read of tags, only if it is S3's whole
// document. Any other body of a 2xx answer is an [Error], so the SDK retries the call. Without VerifyS3 the SDK takes
// an empty body, or a proxy's page, for an empty listing: the objects would be missing in what is read.
func VerifyS3(client bounded.Doer) bounded.Doer { return s3Verifier{client} }

type s3Verifier struct{ client bounded.Doer }

// Do sends a request, and reads the whole answer if it is a document that VerifyS3 checks.
func (v s3Verifier) Do(req *http.Request) (*http.Response, error) {
	resp, err := v.client.Do(req)
	if err != nil || resp.StatusCode < 200 || resp.StatusCode > 299 {
		return resp, err
	}
	root := rootOf(req)
	if root == "" {
		return resp, nil
	}
	body, err := bounded.ReadAll(resp.Body, bounded.Answer)
	_ = resp.Body.Close() // the body was read
	if err != nil {
		return nil, &Error{resp.StatusCode, fmt.Errorf("reading it: %w", err)}
	}
	if !bytes.Contains(body, []byte("<"+root)) || !bytes.HasSuffix(bytes.TrimSpace(body), []byte(root+">")) {
		return nil, &Error{resp.StatusCode, fmt.Errorf("it is no whole %s", root)}
	}
	resp.Body = io.NopCloser(bytes.NewReader(body))
	return resp, nil
}

// rootOf returns the name of the document that answers a request, "" if the answer is not checked.
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
