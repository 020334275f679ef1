package opensearch

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
)

// Mode says how the server tells which of two writes is newer.
type Mode string

// The modes; the package's documentation compares them.
const (
	Exact Mode = "exact" // a stored script compares the versions of the changes
	Fast  Mode = "fast"  // the server compares the creation seconds of the changes
)

// Auth says how requests prove who sends them.
type Auth string

// The ways of Auth.
const (
	None  Auth = "none"  // they don't
	Basic Auth = "basic" // user and password
	SigV4 Auth = "sigv4" // AWS Signature Version 4
)

// The services that SigV4 signs for.
const (
	Managed    = "es"   // Amazon OpenSearch Service
	Serverless = "aoss" // Amazon OpenSearch Serverless
)

// Options describe a store.
type Options struct {
	URL  string // required: of the server, as https://search-shop.eu-central-1.es.amazonaws.com
	Mode Mode   // Default: Exact

	Auth           Auth                    // Default: None
	User, Password string                  // required by Basic
	Region         string                  // required by SigV4
	Credentials    aws.CredentialsProvider // required by SigV4
	// Service is whom SigV4 signs for: Managed or Serverless. Default: Serverless where a
	// label of the URL's host is aoss, else Managed
	Service string

	// CA is a PEM file with the certificates of the authorities that vouch for the server,
	// instead of the system's. Default: the system's
	CA string
	// Transport carries the requests, for tests. It cannot be given with CA. Default: one
	// of the store's own
	Transport http.RoundTripper
	// Timeout is how long one request may take. Default: a minute
	Timeout time.Duration

	// Indexes are what the store makes indexes of, and behind which names. Default: it makes
	// none. Then documents go to the index of their mutation's name, which somebody made, and
	// whose readers have to leave tombstones out
	Indexes *Indexes

	Clock func() time.Time // says when a tombstone is written. Default: time.Now

	BulkBytes int // of one bulk request, at most, where a single document is not larger. Default: 5,000,000
	BulkCount int // documents in one bulk request, at most. Default: 1,000
}

// The defaults of Options.
const (
	defaultTimeout   = time.Minute
	defaultBulkBytes = 5_000_000
	defaultBulkCount = 1_000
)

func (o Options) withDefaults() (Options, error) {
	o.Mode, o.Auth = cmp.Or(o.Mode, Exact), cmp.Or(o.Auth, None)
	o.Timeout = cmp.Or(o.Timeout, defaultTimeout)
	o.BulkBytes, o.BulkCount = cmp.Or(o.BulkBytes, defaultBulkBytes), cmp.Or(o.BulkCount, defaultBulkCount)
	if o.Clock == nil {
		o.Clock = time.Now
	}
	u, err := serverURL(o.URL)
	if err != nil {
		return o, fmt.Errorf("opensearch: URL: %w", err)
	}
	if o.Service == "" {
		o.Service = Managed
		if slices.Contains(strings.Split(u.Hostname(), "."), Serverless) {
			o.Service = Serverless
		}
	}
	switch {
	case o.Mode != Exact && o.Mode != Fast:
		return o, fmt.Errorf("opensearch: Mode is %q: it is %s or %s", o.Mode, Exact, Fast)
	case o.Auth != None && o.Auth != Basic && o.Auth != SigV4:
		return o, fmt.Errorf("opensearch: Auth is %q: it is %s, %s or %s", o.Auth, None, Basic, SigV4)
	case o.Service != Managed && o.Service != Serverless:
		return o, fmt.Errorf("opensearch: Service is %q: it is %s or %s", o.Service, Managed, Serverless)
	case o.Auth == Basic && (o.User == "" || o.Password == ""):
		return o, errors.New("opensearch: User or Password is empty: basic authentication needs both")
	case o.Auth == SigV4 && o.Region == "":
		return o, errors.New("opensearch: Region is empty: a signature names the region of the server")
	case o.Auth == SigV4 && o.Credentials == nil:
		return o, errors.New("opensearch: Credentials is nil: a signature needs credentials")
	case o.CA != "" && o.Transport != nil:
		return o, errors.New("opensearch: CA and Transport are both given: let Transport trust the authority")
	case o.Timeout < 0 || o.BulkBytes < 0 || o.BulkCount < 0:
		return o, errors.New("opensearch: Timeout, BulkBytes or BulkCount is negative")
	case o.Mode == Exact && o.Auth == SigV4 && o.Service == Serverless:
		return o, errors.New("opensearch: Mode: exact needs a stored script, and OpenSearch Serverless stores none: use mode: fast, whose order within one second is that of one worker")
	}
	return o, nil
}

// serverURL checks the address of a server. What is wrong with it is told without
// showing it: it may hold a password.
func serverURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	switch {
	case s == "":
		return nil, errors.New("it is empty: give the address of the server")
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("it is not the address of a server, such as https://search.example.com:9200")
	case u.User != nil:
		return nil, errors.New("it holds a user: give User and Password instead")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("it holds a query or a fragment: give the address of the server alone")
	}
	return u, nil
}
