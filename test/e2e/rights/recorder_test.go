package rights

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/tablewake/tablewake/sinks/policy"
	"github.com/tablewake/tablewake/test/iam"
)

// call is an IAM action on the ARN of its resource, with the partition keys of the rows that it names.
type call struct {
	action, resource string
	keys             string // sorted, each once, separated by line breaks
}

// request returns the request by which IAM judges a call.
func (c call) request() iam.Request {
	r := iam.Request{Action: c.action, Resource: c.resource}
	if c.keys != "" {
		r.Context = map[string][]string{"dynamodb:LeadingKeys": strings.Split(c.keys, "\n")}
	}
	return r
}

// recorder notes the requests that pass through the proxies in front of the servers, and refuses requests that a policy
// does not allow.
type recorder struct {
	partition func(table string) string // returns the name of a table's partition key; "" if there is no table

	mu     sync.Mutex
	calls  map[call]bool
	odd    []string           // requests without a known action
	down   string             // the service that refuses each request; "" for none
	judged bool               // the policy judges requests
	policy []policy.Statement // all that is allowed
}

// permit makes the recorder refuse requests that the statements do not allow.
func (r *recorder) permit(ss []policy.Statement) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.judged, r.policy = true, ss
}

// permitAll makes the recorder allow all requests.
func (r *recorder) permitAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.judged = false
}

// refuse makes a service refuse each request from now on. With "" no service refuses requests.
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

// admits notes calls, and reports whether all of them are allowed.
func (r *recorder) admits(cs ...call) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := true
	for _, c := range cs {
		r.calls[c] = true
		all = all && (!r.judged || iam.Allows(r.policy, c.request()))
	}
	return all
}

// taken returns the calls that were noted since the last call of taken.
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

// before starts a proxy that notes all requests to a server, and returns its URL.
func (r *recorder) before(t *testing.T, endpoint string) string {
	t.Helper()
	to, err := url.Parse(endpoint)
	if err != nil {
		t.Fatal(err)
	}
	p := &httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(to)
			p.Out.Host = p.In.Host // the host is signed
		},
		ModifyResponse: func(a *http.Response) error {
			if q := a.Request; a.StatusCode == http.StatusNotFound && isS3(q) && (q.Method == http.MethodGet || q.Method == http.MethodHead) {
				bucket, _, _ := strings.Cut(q.URL.Path[1:], "/")
				if !r.admits(call{action: "s3:ListBucket", resource: "arn:aws:s3:::" + bucket}) {
					a.StatusCode, a.Status = http.StatusForbidden, "" // as S3 answers about missing objects
				}
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
		calls, known := r.see(q, body)
		if !known {
			r.mu.Lock()
			r.odd = append(r.odd, q.Method+" "+q.URL.String()+" "+q.Header.Get("X-Amz-Target"))
			r.mu.Unlock()
		}
		if !r.admits(calls...) {
			deny(w, signedFor(q))
			return
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

// signedFor returns the service for which a request is signed.
func signedFor(q *http.Request) string {
	scope := strings.Split(q.Header.Get("Authorization"), "/")
	if len(scope) < 4 {
		return ""
	}
	return scope[3]
}

func isS3(q *http.Request) bool { return signedFor(q) == "s3" }

// deny answers as a service does if IAM denies a request.
func deny(w http.ResponseWriter, service string) {
	const text = "is not authorized to perform the action because no identity-based policy allows it"
	status, kind, body := http.StatusBadRequest, "application/x-amz-json-1.0", `{"__type":"com.amazon.coral.service#AccessDeniedException","message":"`+text+`"}`
	switch service {
	case "s3":
		status, kind, body = http.StatusForbidden, "application/xml", "<Error><Code>AccessDenied</Code><Message>"+text+"</Message></Error>"
	case "sns":
		status, kind, body = http.StatusForbidden, "text/xml", "<ErrorResponse><Error><Code>AuthorizationError</Code><Message>"+text+"</Message></Error></ErrorResponse>"
	case "es":
		status, kind, body = http.StatusForbidden, "application/json", `{"Message":"`+text+`"}`
	}
	w.Header().Set("Content-Type", kind)
	w.WriteHeader(status)
	io.WriteString(w, body)
}

// see returns the calls of a request. It returns false if no action is known for the request.
func (r *recorder) see(q *http.Request, body []byte) ([]call, bool) {
	switch service := signedFor(q); service {
	case "dynamodb", "sqs", "events":
		_, op, _ := strings.Cut(q.Header.Get("X-Amz-Target"), ".")
		calls := r.seeJSON(service, op, body)
		return calls, op != "" && len(calls) > 0
	case "s3":
		calls := seeS3(q, body)
		return calls, len(calls) > 0
	case "sns":
		form, err := url.ParseQuery(string(body))
		op := strings.TrimSuffix(form.Get("Action"), "Batch")
		topic := form.Get("TopicArn")
		if name := form.Get("Name"); topic == "" && name != "" { // the topic is created
			topic = "arn:aws:sns:us-east-1:123456789012:" + name
		}
		return []call{{action: "sns:" + op, resource: topic}}, err == nil && op != ""
	case "sts":
		return nil, strings.Contains(string(body), "GetCallerIdentity") // it needs no right
	case "es":
		method := q.Method[:1] + strings.ToLower(q.Method[1:])
		return []call{{action: "es:ESHttp" + method, resource: "arn:aws:es:REGION:ACCOUNT:domain/DOMAIN" + q.URL.Path}}, true
	}
	return nil, false
}

// row has the attributes of an item or of a key, each as {"S": "text"}.
type row map[string]map[string]any

// rows has the parts of a DynamoDB request that name rows of a table.
type rows struct {
	TableName string
	Key, Item row

	KeyConditionExpression    string
	ExpressionAttributeNames  map[string]string
	ExpressionAttributeValues row
}

// request has the parts of the body of a call that name its resource.
type request struct {
	rows
	StreamArn, QueueURL, QueueName, Name, EventBusName string
	RequestItems                                       map[string]struct{ Keys []row }
	Entries                                            []struct{ EventBusName string }
	TransactItems                                      []map[string]rows
}

// equals matches the part of a query's condition about the partition key.
var equals = regexp.MustCompile(`^\s*(#?\w+)\s*=\s*(:\w+)`)

// on returns an action on the rows that the request names.
func (r *recorder) on(action, table string, all ...rows) call {
	if _, name, isARN := strings.Cut(table, ":table/"); isARN { // the API takes a name or an ARN
		table = name
	}
	name := r.partition(table)
	keys := map[string]bool{}
	add := func(v map[string]any) {
		for _, text := range v {
			keys[fmt.Sprint(text)] = true
		}
	}
	for _, one := range all {
		add(one.Key[name])
		add(one.Item[name])
		if m := equals.FindStringSubmatch(one.KeyConditionExpression); m != nil && cmp.Or(one.ExpressionAttributeNames[m[1]], m[1]) == name {
			add(one.ExpressionAttributeValues[m[2]])
		}
	}
	return call{action, "arn:aws:dynamodb:REGION:ACCOUNT:table/" + table, strings.Join(slices.Sorted(maps.Keys(keys)), "\n")}
}

func (r *recorder) seeJSON(service, op string, body []byte) (calls []call) {
	var in request
	_ = json.Unmarshal(body, &in) // Entries of other services have other types
	note := func(action, resource string) { calls = append(calls, call{action: action, resource: resource}) }
	switch {
	case service == "sqs":
		name := in.QueueName + in.QueueURL[strings.LastIndexByte(in.QueueURL, '/')+1:]
		note("sqs:"+strings.TrimSuffix(op, "Batch"), "arn:aws:sqs:REGION:ACCOUNT:"+name)
	case service == "events":
		name := in.Name
		if len(in.Entries) > 0 {
			name = in.Entries[0].EventBusName
		}
		note("events:"+op, "arn:aws:events:REGION:ACCOUNT:event-bus/"+name)
	case op == "TransactWriteItems":
		for _, part := range in.TransactItems {
			for kind, of := range part {
				action := map[string]string{"Put": "PutItem", "Update": "UpdateItem", "Delete": "DeleteItem", "ConditionCheck": "ConditionCheckItem"}[kind]
				calls = append(calls, r.on("dynamodb:"+action, of.TableName, of))
			}
		}
	case op == "BatchGetItem":
		for name, of := range in.RequestItems {
			var all []rows
			for _, key := range of.Keys {
				all = append(all, rows{Key: key})
			}
			calls = append(calls, r.on("dynamodb:BatchGetItem", name, all...))
		}
	case op == "ListStreams":
		note("dynamodb:ListStreams", "*")
	case op == "GetRecords": // the iterator names the stream
		note("dynamodb:GetRecords", "")
	case in.StreamArn != "":
		_, rest, _ := strings.Cut(in.StreamArn, ":table/")
		note("dynamodb:"+op, "arn:aws:dynamodb:REGION:ACCOUNT:table/"+rest)
	case in.TableName != "":
		calls = append(calls, r.on("dynamodb:"+op, in.TableName, in.rows))
	}
	return calls
}

func seeS3(q *http.Request, body []byte) (calls []call) {
	bucket, key, _ := strings.Cut(q.URL.Path[1:], "/")
	arn, query := "arn:aws:s3:::"+bucket, q.URL.Query()
	note := func(action, resource string) { calls = append(calls, call{action: action, resource: resource}) }
	switch {
	case key == "" && q.Method == http.MethodPost && query.Has("delete"):
		for _, part := range strings.Split(string(body), "<Key>")[1:] {
			name, _, _ := strings.Cut(part, "<")
			note("s3:DeleteObject", arn+"/"+name)
		}
	case key == "" && q.Method == http.MethodPut && query.Has("lifecycle"):
		note("s3:PutLifecycleConfiguration", arn)
	case key == "" && q.Method == http.MethodPut:
		note("s3:CreateBucket", arn)
	case key == "":
		note("s3:ListBucket", arn)
	case q.Method == http.MethodPut || q.Method == http.MethodPost:
		note("s3:PutObject", arn+"/"+key)
		if q.Header.Get("X-Amz-Tagging") != "" {
			note("s3:PutObjectTagging", arn+"/"+key)
		}
	case q.Method == http.MethodGet || q.Method == http.MethodHead:
		note("s3:GetObject", arn+"/"+key)
	}
	return calls
}
