package opensearch

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tablewake/tablewake/pipeline"
)

// canary is a value in the texts of servers that quote the request. No error may show it.
const canary = "ada@example.com"

// An answer of the server is marked as transient, fatal or permanent. Its error shows no value of the request.
func TestFailures(t *testing.T) {
	const transient, fatal, permanent = "transient", "fatal", "permanent"
	for _, tt := range []struct {
		name   string
		status int
		body   string
		want   string
		says   string
	}{
		{"busy", 429, `{"error":{"root_cause":[],"type":"rejected_execution_exception","reason":"rejected"},"status":429}`, transient, "rejected_execution_exception (429)"},
		{"memory", 429, `{"error":{"type":"circuit_breaking_exception","reason":"[parent] Data too large"},"status":429}`, transient, "protects its memory"},
		{"script compiler", 400, `{"error":{"type":"illegal_argument_exception","reason":"failed to execute script","caused_by":{"type":"circuit_breaking_exception","reason":"[script] Too many dynamic script compilations within, max: [75/5m]"}}}`, transient, "script compiler"},
		{"unavailable", 503, `{"error":{"type":"unavailable_shards_exception","reason":"primary shard is not active"}}`, transient, "unavailable_shards_exception (503)"},
		{"a proxy", 502, `<html>` + canary + `</html>`, transient, "the server answers 502"},
		{"a race", 409, `{"error":{"type":"version_conflict_engine_exception","reason":"[` + canary + `]: version conflict"}}`, transient, "version_conflict_engine_exception"},
		{"read-only", 403, `{"error":{"type":"cluster_block_exception","reason":"index [products] blocked by: [FORBIDDEN/8/index write (api)];"}}`, transient, "index.blocks"},
		{"flood stage", 429, `{"error":{"type":"cluster_block_exception","reason":"index [products] blocked by: [TOO_MANY_REQUESTS/12/disk usage exceeded flood-stage watermark, index has read-only-allow-delete block];"}}`, transient, "disk space"},
		{"no permission", 403, `{"error":{"root_cause":[{"type":"security_exception","reason":"no permissions for [indices:data/write/bulk]"}],"type":"security_exception","reason":"no permissions"},"status":403}`, fatal, "security_exception (403); check auth"},
		{"no permission, named", 403, `{"error":{"type":"security_exception","reason":"no permissions for [indices:data/write/bulk] and User [name=` + canary + `]"},"status":403}`, fatal, "security_exception (403); allow indices:data/write/bulk: check auth"},
		{"AWS", 403, `{"Message":"User: arn:aws:iam::123456789012:user/` + canary + ` is not authorized to perform: es:ESHttpPost"}`, fatal, "the server answers 403; allow es:ESHttpPost: check auth"},
		{"an old token", 403, `{"message":"The security token included in the request is expired"}`, fatal, "renew the credentials"},
		{"a wrong clock", 403, `{"message":"Signature expired: 20261122T101010Z is now earlier than 20261122T110000Z (20261122T110500Z - 5 min.)"}`, fatal, "the clock of this machine is not the server's"},
		{"a clock ahead", 403, `{"message":"Signature not yet current: 20261122T121010Z is still later than 20261122T110000Z"}`, fatal, "the clock of this machine is not the server's"},
		{"who", 401, `Unauthorized`, fatal, "the server answers 401; check auth"},
		{"no index", 404, `{"error":{"type":"index_not_found_exception","reason":"no such index [products]"}}`, fatal, "create the index"},
		{"no script", 400, `{"error":{"type":"illegal_argument_exception","reason":"failed to execute script","caused_by":{"type":"resource_not_found_exception","reason":"unable to find script [tablewake-0] in cluster state"}}}`, transient, "installed again"},
		{"no scripts", 400, `{"error":{"type":"illegal_argument_exception","reason":"failed to execute script","caused_by":{"type":"illegal_argument_exception","reason":"cannot execute [stored] scripts"}}}`, fatal, "mode: fast"},
		{"a value", 400, `{"error":{"type":"mapper_parsing_exception","reason":"failed to parse field [Price] of type [long] in document with id '` + canary + `'. Preview of field's value: '` + canary + `'","caused_by":{"type":"illegal_argument_exception","reason":"For input string: \"` + canary + `\""}}}`, permanent, `mapper_parsing_exception (400): field "Price"; change the mapping`},
		{"an object", 400, `{"error":{"type":"mapper_parsing_exception","reason":"object mapping for [Address] tried to parse field [Address] as object, but found a concrete value"}}`, permanent, `field "Address"`},
		{"strict", 400, `{"error":{"type":"strict_dynamic_mapping_exception","reason":"mapping set to strict, dynamic introduction of [Née] within [_doc] is not allowed"}}`, permanent, `field "Née"`},
		{"another type", 400, `{"error":{"type":"illegal_argument_exception","reason":"mapper [Price] cannot be changed from type [long] to [text]"}}`, permanent, `field "Price"`},
		{"long text", 400, `{"error":{"type":"illegal_argument_exception","reason":"Document contains at least one immense term in field=\"Title\" (whose UTF8 encoding is longer than the max length 32766), all of which were skipped. The prefix of the first immense term is: '` + canary + `'"}}`, permanent, `field "Title"`},
		{"fields", 400, `{"error":{"type":"illegal_argument_exception","reason":"Limit of total fields [1000] has been exceeded"}}`, permanent, "total_fields.limit"},
		{"large", 413, ``, permanent, "http.max_content_length"},
		{"garbage", 400, `{"error":{"type":"` + "x", transient, "400"},
		{"nothing", 400, ``, transient, "400"},
		{"a page that forbids", 403, `<html>` + canary, transient, "403"},
	} {
		err := answer{status: tt.status, body: []byte(tt.body)}.asError("write a document", "products")
		is := permanent
		if _, ok := pipeline.Retryable(err); ok {
			is = transient
		} else if pipeline.IsFatal(err) {
			is = fatal
		}
		if is != tt.want || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s is %s: %v; want %s with %q", tt.name, is, err, tt.want, tt.says)
		}
		if strings.Contains(err.Error(), canary) {
			t.Errorf("%s shows what it was sent: %v", tt.name, err)
		}
	}
}

// The name of an index may contain a value of an item, so the redacted error omits the name.
func TestRedacted(t *testing.T) {
	e := &Error{Op: "write a document", Index: "docs-acme", Status: 400, Type: "mapper_parsing_exception", Field: "Price"}
	if !strings.Contains(e.Error(), "docs-acme") || strings.Contains(e.Redacted(), "acme") || !strings.Contains(e.Redacted(), "Price") {
		t.Errorf("%s; redacted: %s", e.Error(), e.Redacted())
	}
}

// If a proxy in front of the server says how long to wait, the retry waits as long.
func TestWait(t *testing.T) {
	for header, want := range map[string]time.Duration{"7": 7 * time.Second, "": 0, "-1": 0, "soon": 0} {
		err := answer{status: 429, header: http.Header{"Retry-After": {header}}}.asError("write a document", "")
		if after, ok := pipeline.Retryable(err); !ok || after != want {
			t.Errorf("Retry-After %q: wait %s, want %s (%v)", header, after, want, err)
		}
	}
}
