package validate

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/test/server"
)

// call is a call of a service.
type call struct {
	op   string // operation; the HTTP method if the request names no operation
	body string
}

// tap has proxies before servers. It notes the calls, and answers some of them itself.
type tap struct {
	mu     sync.Mutex
	calls  []call
	answer func(c call) (status int, body string) // status 0: the server answers
}

// before returns the URL of a proxy before a server.
func (p *tap) before(t *testing.T, endpoint string) string {
	t.Helper()
	to, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	proxy := &httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Host = r.In.Host // the signature covers the host
	}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		r.Body = io.NopCloser(bytes.NewReader(body))
		if status, text := p.note(r, string(body)); status != 0 {
			kind := "text/xml"
			if r.Header.Get("X-Amz-Target") != "" {
				kind = "application/x-amz-json-1.0"
			}
			w.Header().Set("Content-Type", kind)
			w.WriteHeader(status)
			fmt.Fprint(w, text)
			return
		}
		proxy.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// note notes a call, and returns the answer of the tap.
func (p *tap) note(r *http.Request, body string) (status int, text string) {
	c := call{r.Method, body}
	if form, err := url.ParseQuery(body); err == nil && form.Has("Action") {
		c.op = form.Get("Action")
	}
	if _, op, ok := strings.Cut(r.Header.Get("X-Amz-Target"), "."); ok {
		c.op = op
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.calls = append(p.calls, c)
	if p.answer == nil {
		return 0, ""
	}
	return p.answer(c)
}

// answers sets what the tap answers itself.
func (p *tap) answers(answer func(c call) (status int, body string)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answer = answer
}

// taken returns the calls since taken was last called.
func (p *tap) taken() []call {
	p.mu.Lock()
	defer p.mu.Unlock()
	calls := p.calls
	p.calls = nil
	return calls
}

// reads matches the calls that write nothing.
var reads = regexp.MustCompile(`^((Describe|Get|List)\w+|BatchGetItem|Query|Scan|SimulatePrincipalPolicy|GET|HEAD)$`)

// onlyReads checks that all calls since taken was last called are reads. It returns how many there were of each.
func (p *tap) onlyReads(t *testing.T) map[string]int {
	t.Helper()
	count := make(map[string]int)
	for _, c := range p.taken() {
		count[c.op]++
		if !reads.MatchString(c.op) {
			t.Errorf("validate calls %s: %s", c.op, c.body)
		}
	}
	if len(count) == 0 {
		t.Error("validate makes no call")
	}
	return count
}

// servers names the real servers in the environment, with a tap before each. It returns a name that no other test has.
func servers(t *testing.T) (p *tap, name string) {
	t.Helper()
	p = new(tap)
	for service, kind := range map[string]*server.Kind{
		"DYNAMODB": server.DynamoDB(), "DYNAMODB_STREAMS": server.DynamoDB(), "S3": server.S3(), "SQS": server.SQS(),
		"SNS": server.Moto(), "EVENTBRIDGE": server.Moto(), "STS": server.Moto(), "IAM": server.Moto(),
	} {
		t.Setenv("AWS_ENDPOINT_URL_"+service, p.before(t, kind.Endpoint(t)))
	}
	t.Setenv("AWS_ACCESS_KEY_ID", server.AccessKey)
	t.Setenv("AWS_SECRET_ACCESS_KEY", server.SecretKey)
	t.Setenv("AWS_REGION", server.Region)
	return p, "validate-" + strings.ToLower(rand.Text())[:10]
}

// write writes a configuration file of a test.
func write(t *testing.T, text string) (file string) {
	t.Helper()
	file = filepath.Join(t.TempDir(), "shop.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}
