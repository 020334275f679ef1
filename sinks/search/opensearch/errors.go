package opensearch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/awserr"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// errs makes the errors of this package. Their redacted text holds no data.
const errs = redact.Class("search")

// Error is a refused or failed request. Of the server's text it contains only the type of the error and the name of the
// field. The rest of the text may show values and keys.
type Error struct {
	Op     string // the requested operation: "write a document", ...
	Index  string // name of the index; "" if the request was not about one index
	Status int    // HTTP status of the answer
	Type   string // the server's name of the error, such as mapper_parsing_exception; "" if it has none
	Field  string // field of the document that the server refuses; "" if the error is not about a field
	Hint   string // what an operator can do; "" if the type is clear enough

	class string // class that Describe returns; "" means "opensearch"
}

// Error returns a line such as: opensearch: write a document in products: mapper_parsing_exception (400): field
// "Price"; change the mapping ...
func (e *Error) Error() string {
	where := ""
	if e.Index != "" {
		where = " in " + e.Index
	}
	return e.message(where)
}

// Redacted omits the index, whose name may contain values of the item.
func (e *Error) Redacted() string { return e.message("") }

// Describe returns the class of the server's answer, and the field that the server refuses.
func (e *Error) Describe() (class, field string) { return cmp.Or(e.class, "opensearch"), e.Field }

func (e *Error) message(where string) string {
	var b strings.Builder
	fmt.Fprintf(&b, "opensearch: %s%s: ", e.Op, where)
	if e.Type != "" {
		fmt.Fprintf(&b, "%s (%d)", e.Type, e.Status)
	} else {
		fmt.Fprintf(&b, "the server answers %d", e.Status)
	}
	if e.Field != "" {
		fmt.Fprintf(&b, ": field %q", e.Field)
	}
	if e.Hint != "" {
		b.WriteString("; " + e.Hint)
	}
	return b.String()
}

var _ redact.Redacted = (*Error)(nil)

// asError returns the error of an answer that did not succeed, marked as transient, fatal or permanent.
func (a answer) asError(op, index string) error {
	f := a.parse()
	err := f.err(op, index)
	wait := awserr.ParseRetryAfter(a.header) // only proxies send Retry-After; OpenSearch does not
	_, transient := pipeline.Retryable(err)
	if transient && wait > 0 {
		return pipeline.RetryAfter(err, wait)
	}
	return err
}

// failure is the server's report of a refused request or document. Its texts are slices of the answer's body.
type failure struct {
	status      int
	kind        []byte // the error's type
	reason      []byte // the error's text, still with JSON escapes; it is only searched for known parts
	causeKind   []byte // the type of the innermost cause; nil if the error has no cause
	causeReason []byte // the text of that cause
}

// failureClass is the meaning of a failure for the sender of the request.
type failureClass struct {
	name string // name in logs
	// markError marks the error for the pipeline. If it is nil, the error is permanent: the document will never be
	// accepted
	markError func(error) error
	hint      string // what an operator can do
}

var (
	badMapping  = &failureClass{name: "mapping"}
	busy        = &failureClass{name: "throttled", markError: pipeline.Transient}
	unavailable = &failureClass{name: "unavailable", markError: pipeline.Transient}
	tooLarge    = &failureClass{name: "too_large", hint: "raise http.max_content_length of the server, or leave fields out"}
	// versionConflict means that another writer changed the document between the server's read and its write
	versionConflict = &failureClass{name: "conflict", markError: pipeline.Transient}
	noDocument      = &failureClass{name: "missing"} // the document does not exist
	noIndex         = &failureClass{name: "missing", markError: pipeline.Fatal, hint: "create the index, or let create do it"}
	noScript        = &failureClass{name: "missing", markError: pipeline.Transient,
		hint: "somebody deleted the stored script; it is installed again"}
	blocked = &failureClass{name: "blocked", markError: pipeline.Transient,
		hint: "the index takes no writes: free disk space if it ran out, then remove index.blocks.* from its settings"}
	denied = &failureClass{name: "denied", markError: pipeline.Denied,
		hint: "check auth, the credentials, and the access policy or role of the server"}
	expired = &failureClass{name: "denied", markError: pipeline.Denied, hint: "the credentials have expired: renew the credentials"}
	skewed  = &failureClass{name: "clock", markError: pipeline.Denied, hint: "the clock of this machine is not the server's: set it"}

	noScripting = &failureClass{name: "denied", markError: pipeline.Fatal,
		hint: "the server runs no stored scripts in updates: allow them (script.allowed_types, script.allowed_contexts), or use mode: fast, whose order within one second is that of one worker"}
)

// hasType reports whether the error or its cause has one of the types kinds.
func (f *failure) hasType(kinds ...string) bool {
	return slices.Contains(kinds, string(f.kind)) || slices.Contains(kinds, string(f.causeKind))
}

// classify returns the class of f.
func (f *failure) classify() *failureClass {
	isForbidden := f.status == http.StatusForbidden || f.status == http.StatusUnauthorized
	hasNoError := f.kind == nil && f.reason == nil
	switch { // the first case that applies decides
	case f.hasType("cluster_block_exception", "index_closed_exception"): // an operator may open a closed index again
		return blocked
	case f.status == http.StatusTooManyRequests,
		f.hasType("circuit_breaking_exception", "rejected_execution_exception", "opensearch_rejected_execution_exception"):
		return busy
	case f.status == http.StatusRequestEntityTooLarge:
		return tooLarge
	case f.status == http.StatusConflict:
		return versionConflict
	case f.hasType("index_not_found_exception"):
		return noIndex
	case f.hasType("resource_not_found_exception"):
		return noScript
	case f.status == 0:
		return unavailable
	case hasNoError && slices.Contains(alwaysExplained, f.status):
		return unavailable // the answer is not from an OpenSearch server
	case f.status == http.StatusNotFound:
		return noDocument
	case f.hasType("illegal_argument_exception") && f.reasonContains("cannot execute"):
		return noScripting
	case isForbidden && (f.reasonContains("Signature expired") || f.reasonContains("not yet current")):
		return skewed
	case isForbidden && f.reasonContains("expired"):
		return expired
	case isForbidden:
		return denied
	case f.status >= http.StatusInternalServerError:
		return unavailable
	}
	return badMapping
}

// alwaysExplained are the statuses for which an OpenSearch server always gives a reason.
var alwaysExplained = []int{http.StatusBadRequest, http.StatusForbidden, http.StatusPreconditionFailed}

// documentUnfit reports whether the document did not fit the fields that its index had when the server tried to write
// it.
func (f *failure) documentUnfit() bool {
	kind := string(f.kind)
	isParsingError := kind == "mapper_parsing_exception" || kind == "illegal_argument_exception"
	return isParsingError && f.classify() == badMapping
}

// err returns f as an error, marked as transient, fatal or permanent.
func (f *failure) err(op, index string) error {
	class := f.classify()
	e := &Error{Op: op, Index: index, Status: f.status, Type: string(f.kind), class: class.name, Hint: class.hint}
	switch class {
	case busy:
		if f.hasType("circuit_breaking_exception") {
			e.Hint = "the server protects its memory, or its script compiler from others' scripts"
		}
	case denied:
		if right := f.missingPermission(); right != "" {
			e.Hint = "allow " + right + ": " + e.Hint
		}
	case badMapping, noDocument:
		e.Field = f.field()
		switch {
		case e.Field != "":
			e.Hint = "change the mapping, or exclude the field"
		case strings.Contains(string(f.reason), "Limit of total fields"):
			e.Hint = "raise index.mapping.total_fields.limit, or include fewer fields"
		}
	}
	if class.markError == nil {
		return e
	}
	return class.markError(e)
}

// missingPermission returns the permission that a refusal names, or "" if it names none. There are two forms. The
// server's roles refuse with "no permissions for [indices:data/write/bulk] and User ...". An AWS policy refuses with
// "is not authorized to perform: es:ESHttpPost".
func (f *failure) missingPermission() string {
	if m := permissionPattern.FindSubmatch(f.reason); m != nil {
		return string(m[1])
	}
	return ""
}

var permissionPattern = regexp.MustCompile(`(?:no permissions for \[|not authorized to perform: )([a-zA-Z]+:[a-zA-Z:/_*]+)`)

// fieldMarks are the texts that the server writes before and after the name of a field.
var fieldMarks = []struct{ before, after string }{
	{"failed to parse field [", "]"},
	{"object mapping for [", "]"},
	{"dynamic introduction of [", "]"},
	{"mapper [", "]"},
	{`immense term in field=\"`, `\"`},
	{"field [", "]"},
}

// field returns the name of the field that the server refuses, or "" if the failure names no field.
func (f *failure) field() string {
	for _, m := range fieldMarks {
		_, rest, found := strings.Cut(string(f.reason), m.before)
		if !found {
			continue
		}
		name, _, found := strings.Cut(rest, m.after)
		if !found {
			continue
		}
		var plain string // without the escapes of JSON
		if json.Unmarshal([]byte(`"`+name+`"`), &plain) == nil {
			return plain
		}
	}
	return ""
}

// errMismatchedAnswer means that the server's answer does not match the request.
var errMismatchedAnswer = pipeline.Transient(
	errs.New("opensearch: the server's answer is not one to what it was sent: is a proxy in between?"))
