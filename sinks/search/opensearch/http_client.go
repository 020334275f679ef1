package opensearch

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/opensearch-project/opensearch-go/v2"
	"github.com/opensearch-project/opensearch-go/v2/signer/awsv2"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/bounded"
)

// client sends requests. It never retries; its callers decide about that.
type client struct {
	server         *opensearch.Client
	transport      *http.Transport         // nil if the options gave a transport
	credentials    aws.CredentialsProvider // nil without SigV4
	timeout        time.Duration
	maxAnswerBytes int64 // maximum size of an answer in bytes
}

func newClient(o Options) (*client, error) {
	c := &client{timeout: o.Timeout, maxAnswerBytes: bounded.Answer}
	transport := o.Transport
	if transport == nil {
		var err error
		if c.transport, err = newTransport(o.CA); err != nil {
			return nil, fmt.Errorf("CA: %w", err)
		}
		transport = c.transport
	}

	config := opensearch.Config{Addresses: []string{o.URL}, Transport: noRetry{transport}, DisableRetry: true}
	switch o.Auth {
	case Basic:
		config.Username, config.Password = o.User, o.Password
	case SigV4:
		c.credentials = aws.NewCredentialsCache(o.Credentials)
		var err error
		config.Signer, err = awsv2.NewSignerWithService(aws.Config{Region: o.Region, Credentials: c.credentials}, o.Service)
		if err != nil {
			return nil, err
		}
	}
	var err error
	c.server, err = opensearch.NewClient(config)
	return c, err
}

// idleConnections is the maximum number of idle connections to the server. A sink has several writes in flight. With
// Go's default of 2, most writes would have to connect again.
const idleConnections = 32

func newTransport(ca string) (*http.Transport, error) {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = idleConnections
	if ca == "" {
		return t, nil
	}
	pem, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		return nil, fmt.Errorf("%s holds no PEM certificate", ca)
	}
	t.TLSClientConfig = &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}
	return t, nil
}

func (c *client) close() {
	if c.transport != nil {
		c.transport.CloseIdleConnections()
	}
}

// noRetry wraps each error in another error, so that the library does not recognize io.EOF. After io.EOF the library
// would send the request again, with only the unread rest of its body.
type noRetry struct{ http.RoundTripper }

func (t noRetry) RoundTrip(r *http.Request) (*http.Response, error) {
	resp, err := t.RoundTripper.RoundTrip(r)
	if err != nil {
		return resp, fmt.Errorf("%w", err)
	}
	return resp, nil
}

// answer is the server's answer to a request.
type answer struct {
	status int
	header http.Header
	body   []byte // complete
}

// succeeded reports whether the server did what was requested: the status is 2xx.
func (a answer) succeeded() bool { return a.status/100 == 2 }

// call is a request, with its purpose for error texts.
type call struct {
	op, index    string // operation and index for error texts; see Error
	method, path string
	body         any // encoded as JSON; nil for none
}

// ask sends a request and returns the body of the answer. found is false if the server answers that it has no such
// index, document or scroll. Any other answer whose status is not 2xx is an error.
func (c *client) ask(ctx context.Context, q call) (body []byte, found bool, err error) {
	var sent []byte
	if q.body != nil {
		if sent, err = json.Marshal(q.body); err != nil {
			return nil, false, fmt.Errorf("opensearch: %w", err)
		}
	}
	a, err := c.do(ctx, q.method, q.path, sent)
	if err != nil {
		return nil, false, err
	}
	if a.status == http.StatusNotFound {
		if !a.namesMissing() {
			return nil, false, a.foreignError(q.op)
		}
		return nil, false, nil
	}
	if !a.succeeded() {
		return nil, false, a.asError(q.op, q.index)
	}
	return a.body, true, nil
}

// do sends a request and returns the answer, whatever its status is. body is JSON; nil means none. path begins with a
// slash, is escaped, and may have a query. If there is no answer, do returns a transient error, and the effect of the
// request is unknown.
func (c *client) do(ctx context.Context, method, path string, body []byte) (answer, error) {
	return c.send(ctx, method, path, "application/json", body)
}

// sendBulk sends the lines of a bulk request.
func (c *client) sendBulk(ctx context.Context, path string, lines []byte) (answer, error) {
	return c.send(ctx, http.MethodPost, path, "application/x-ndjson", lines)
}

// sendBulkItems sends the lines of a bulk request of n documents, and calls visit with the result of each.
func (c *client) sendBulkItems(
	ctx context.Context, q call, lines []byte, n int, visit func(i int, it *bulkItem),
) error {
	a, err := c.sendBulk(ctx, q.path, lines)
	switch {
	case err != nil:
		return err
	case !a.succeeded():
		return a.asError(q.op, q.index)
	case !parseItems(a.body, n, visit):
		return errMismatchedAnswer
	}
	return nil
}

func (c *client) send(ctx context.Context, method, path, contentType string, body []byte) (answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.timeout)
	defer cancel()
	if err := c.loadCredentials(ctx); err != nil {
		return answer{}, err
	}
	r, err := http.NewRequestWithContext(ctx, method, path, bytes.NewReader(body))
	if err != nil {
		return answer{}, fmt.Errorf("opensearch: %w", err)
	}
	if len(body) > 0 {
		r.Header.Set("Content-Type", contentType)
	}

	resp, err := c.server.Perform(r)
	if err != nil {
		return answer{}, pipeline.Transient(errs.Errorf("opensearch: no answer: %w", err))
	}
	defer resp.Body.Close()
	received, err := bounded.ReadAll(resp.Body, c.maxAnswerBytes)
	if oversize, ok := errors.AsType[*bounded.Error](err); ok {
		return answer{}, pipeline.Transient(errs.Errorf("opensearch: the answer: %w", oversize))
	}
	if err != nil {
		return answer{}, pipeline.Transient(errCut)
	}

	a := answer{status: resp.StatusCode, header: resp.Header, body: received}
	if !a.isFromOpenSearch(method) {
		return a, a.foreignError(method)
	}
	return a, nil
}

// loadCredentials loads the credentials before the signer does, because ctx can stop this call. The signer loads them
// without a context.
func (c *client) loadCredentials(ctx context.Context) error {
	if c.credentials == nil {
		return nil
	}
	_, err := c.credentials.Retrieve(ctx)
	if err == nil {
		return nil
	}
	err = errs.Errorf("opensearch: no credentials to sign with: %w", err)
	if ctx.Err() != nil {
		return pipeline.Transient(err)
	}
	return pipeline.Denied(err)
}

// isFromOpenSearch reports whether the answer can come from OpenSearch. If the caller interprets the body of a status,
// the body must be a JSON object. Answers with other statuses need no body.
func (a answer) isFromOpenSearch(method string) bool {
	isInterpreted := a.succeeded() || a.status == http.StatusNotFound || a.status == http.StatusBadRequest ||
		a.status == http.StatusConflict
	if method == http.MethodHead || !isInterpreted {
		return true
	}
	body := bytes.TrimSpace(a.body)
	return bytes.HasPrefix(body, []byte{'{'}) && bytes.HasSuffix(body, []byte{'}'})
}

// foreignError returns the error of an answer that is not from OpenSearch. op is the request.
func (a answer) foreignError(op string) error {
	return pipeline.Transient(&Error{Op: op, Status: a.status,
		Hint: "the answer is not an OpenSearch server's: is url its address, or is a proxy in between?"})
}

// namesMissing reports whether the answer says what the server did not find: a document, or by an error something else.
// The 404 of a proxy does not.
func (a answer) namesMissing() bool {
	var said struct {
		Found *bool `json:"found"`
		Error struct {
			Type string `json:"type"`
		} `json:"error"`
	}
	return json.Unmarshal(a.body, &said) == nil && (said.Found != nil || said.Error.Type != "")
}

// errCut means that the connection ended before the answer did.
var errCut = errs.New("opensearch: the connection ended before the answer did")
