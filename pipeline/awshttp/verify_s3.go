package awshttp

import (
	"bytes"
	"fmt"
	"net/http"

	"github.com/tablewake/tablewake/pipeline/bounded"
)

// VerifyS3 returns a client that accepts the answer of a listing, or of a read of tags, only if it is S3's whole
// document. Any other body of a 2xx answer is an [Error], so the SDK retries the call. Without VerifyS3 the SDK takes
// an empty body, or a proxy's page, for an empty listing: the objects would be missing in what is read.
func VerifyS3(client bounded.Doer) bounded.Doer {
	return verifier{client, bounded.Answer, func(req *http.Request) func([]byte) error {
		root := rootOf(req)
		if root == "" {
			return nil
		}
		return func(body []byte) error { return checkDocument(body, root) }
	}}
}

// checkDocument returns nil if body is a whole document with this root.
func checkDocument(body []byte, root string) error {
	hasStart := bytes.Contains(body, []byte("<"+root))
	hasEnd := bytes.HasSuffix(bytes.TrimSpace(body), []byte(root+">"))
	if !hasStart || !hasEnd {
		return fmt.Errorf("it is no whole %s", root)
	}
	return nil
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
