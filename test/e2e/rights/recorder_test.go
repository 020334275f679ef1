package rights

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"sync"
	"testing"
)

// call is an IAM action on the ARN of what it was done to.
type call struct{ action, resource string }

// recorder notes what passes through the proxies before the servers.
type recorder struct {
	mu    sync.Mutex
	calls map[call]bool
	odd   []string // what no action is known for
	down  string   // the service that refuses each request, "" for none
}

// refuse has a service refuse each request from now on, "" none.
func (r *recorder) refuse(service string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.down = service
}

func (r *recorder) refuses(q *http.Request) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.down != "" && r.down == signedFor(q)
}

func (r *recorder) note(action, resource string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls[call{action, resource}] = true
}

// taken is what was noted since it was last asked.
func (r *recorder) taken(t *testing.T) map[call]bool {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.odd {
		t.Error("no action is known for", o)
	}
	calls := r.calls
	r.calls, r.odd = map[call]bool{}, nil
	return calls
}

// before is the URL of a proxy that notes all that goes to a server.
func (r *recorder) before(t *testing.T, endpoint string) string {
	t.Helper()
	to, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	p := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(to)
			p.Out.Host = p.In.Host // which is signed
		},
		ModifyResponse: func(a *http.Response) error {
			if q := a.Request; a.StatusCode == http.StatusNotFound && isS3(q) && (q.Method == http.MethodGet || q.Method == http.MethodHead) {
				bucket, _, _ := strings.Cut(q.URL.Path[1:], "/")
				r.note("s3:ListBucket", "arn:aws:s3:::"+bucket) // without it the answer is 403
			}
			return nil
		},
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, q *http.Request) {
		body, err := io.ReadAll(q.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadGateway)
			return
		}
		q.Body = io.NopCloser(bytes.NewReader(body))
		if !r.see(q, body) {
			r.mu.Lock()
			r.odd = append(r.odd, q.Method+" "+q.URL.String()+" "+q.Header.Get("X-Amz-Target"))
			r.mu.Unlock()
		}
		if r.refuses(q) {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		p.ServeHTTP(w, q)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// signedFor is the service of the request's signature.
func signedFor(q *http.Request) string {
	scope := strings.Split(q.Header.Get("Authorization"), "/")
	if len(scope) < 4 {
		return ""
	}
	return scope[3]
}

func isS3(q *http.Request) bool { return signedFor(q) == "s3" }

// see notes a request; it is false where no action is known for it.
func (r *recorder) see(q *http.Request, body []byte) bool {
	switch service := signedFor(q); service {
	case "dynamodb", "sqs", "events":
		_, op, _ := strings.Cut(q.Header.Get("X-Amz-Target"), ".")
		return r.seeJSON(service, op, body)
	case "s3":
		return r.seeS3(q, body)
	case "sns":
		form, err := url.ParseQuery(string(body))
		op := strings.TrimSuffix(form.Get("Action"), "Batch")
		r.note("sns:"+op, form.Get("TopicArn"))
		return err == nil && op != ""
	case "sts":
		return strings.Contains(string(body), "GetCallerIdentity") // which needs no right
	case "es":
		method := q.Method[:1] + strings.ToLower(q.Method[1:])
		r.note("es:ESHttp"+method, "arn:aws:es:REGION:ACCOUNT:domain/DOMAIN"+q.URL.Path)
		return true
	}
	return false
}

// request is what names the resource in the body of a call.
type request struct {
	TableName, StreamArn, QueueURL, QueueName, Name, EventBusName string
	RequestItems                                                  map[string]any
	Entries                                                       []struct{ EventBusName string }
	TransactItems                                                 []map[string]struct{ TableName string }
}

func (r *recorder) seeJSON(service, op string, body []byte) bool {
	var in request
	_ = json.Unmarshal(body, &in) // Entries of other services are otherwise
	table := func(name string) string { return "arn:aws:dynamodb:REGION:ACCOUNT:table/" + name }
	switch {
	case service == "sqs":
		name := in.QueueName + in.QueueURL[strings.LastIndexByte(in.QueueURL, '/')+1:]
		r.note("sqs:"+strings.TrimSuffix(op, "Batch"), "arn:aws:sqs:REGION:ACCOUNT:"+name)
	case service == "events":
		name := in.Name
		if len(in.Entries) > 0 {
			name = in.Entries[0].EventBusName
		}
		r.note("events:"+op, "arn:aws:events:REGION:ACCOUNT:event-bus/"+name)
	case op == "TransactWriteItems":
		for _, part := range in.TransactItems {
			for kind, of := range part {
				action := map[string]string{"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem"}[kind]
				r.note("dynamodb:"+action, table(of.TableName))
			}
		}
	case op == "BatchGetItem":
		for name := range in.RequestItems {
			r.note("dynamodb:BatchGetItem", table(name))
		}
	case op == "ListStreams":
		r.note("dynamodb:ListStreams", "*")
	case op == "GetRecords": // its iterator names the stream
		r.note("dynamodb:GetRecords", "")
	case in.StreamArn != "":
		_, rest, _ := strings.Cut(in.StreamArn, ":table/")
		r.note("dynamodb:"+op, table(rest))
	case in.TableName != "":
		r.note("dynamodb:"+op, table(in.TableName))
	default:
		return false
	}
	return op != ""
}

func (r *recorder) seeS3(q *http.Request, body []byte) bool {
	bucket, key, _ := strings.Cut(q.URL.Path[1:], "/")
	arn, query := "arn:aws:s3:::"+bucket, q.URL.Query()
	switch {
	case key == "" && q.Method == http.MethodPost && query.Has("delete"):
		for _, part := range strings.Split(string(body), "<Key>")[1:] {
			name, _, _ := strings.Cut(part, "<")
			r.note("s3:DeleteObject", arn+"/"+name)
		}
	case key == "" && q.Method == http.MethodPut && query.Has("lifecycle"):
		r.note("s3:PutLifecycleConfiguration", arn)
	case key == "" && q.Method == http.MethodPut:
		r.note("s3:CreateBucket", arn)
	case key == "":
		r.note("s3:ListBucket", arn)
	case q.Method == http.MethodPut || q.Method == http.MethodPost:
		r.note("s3:PutObject", arn+"/"+key)
		if q.Header.Get("X-Amz-Tagging") != "" {
			r.note("s3:PutObjectTagging", arn+"/"+key)
		}
	case q.Method == http.MethodGet || q.Method == http.MethodHead:
		r.note("s3:GetObject", arn+"/"+key)
	default:
		return false
	}
	return true
}
