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

// Mode selects how the server decides which of two writes is newer.
type Mode string

// The modes. The package comment compares them.
const (
	Exact Mode = "exact" // a stored script compares the versions of the changes
	Fast  Mode = "fast"  // the server compares the creation seconds of the changes
)

// Auth selects how requests are authenticated.
type Auth string

// The values of Auth.
const (
	None  Auth = "none"  // no authentication
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
	URL  string // required: address of the server, such as https://search-shop.eu-central-1.es.amazonaws.com
	Mode Mode   // Default: Exact

	Auth           Auth                    // Default: None
	User, Password string                  // required by Basic
	Region         string                  // required by SigV4
	Credentials    aws.CredentialsProvider // required by SigV4
	// Service is the AWS service that SigV4 signs for: Managed or Serverless. Default: Serverless if a
	// label of the URL's host is aoss, else Managed
	Service string

	// CA is a PEM file with the certificates of the trusted authorities. Default: the authorities of the system
	CA string
	// Transport carries the requests in tests. It cannot be combined with CA. Default: the store makes its own
	// transport
	Transport http.RoundTripper
	// Timeout is the limit of one request. Default: a minute
	Timeout time.Duration

	// Indexes are the indexes that the store creates. Default: the store creates no indexes. A document then goes to
	// the index that its mutation names. That index must exist, and readers must filter tombstones themselves
	Indexes *Indexes

	Clock func() time.Time // clock of tombstones and records. Default: time.Now

	BulkBytes int // maximum size of a bulk request with several documents. Default: 5,000,000
	BulkCount int // maximum number of documents in one bulk request. Default: 1,000
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
	return o, o.validate()
}

// validate returns an error if options are missing, unknown or do not go together. The defaults are set.
func (o *Options) validate() error {
	switch {
	case o.Mode != Exact && o.Mode != Fast:
		return fmt.Errorf("opensearch: Mode is %q: it is %s or %s", o.Mode, Exact, Fast)
	case o.Auth != None && o.Auth != Basic && o.Auth != SigV4:
		return fmt.Errorf("opensearch: Auth is %q: it is %s, %s or %s", o.Auth, None, Basic, SigV4)
	case o.Service != Managed && o.Service != Serverless:
		return fmt.Errorf("opensearch: Service is %q: it is %s or %s", o.Service, Managed, Serverless)
	case o.Auth == Basic && (o.User == "" || o.Password == ""):
		return errors.New("opensearch: User or Password is empty: basic authentication needs both")
	case o.Auth == SigV4 && o.Region == "":
		return errors.New("opensearch: Region is empty: a signature names the region of the server")
	case o.Auth == SigV4 && o.Credentials == nil:
		return errors.New("opensearch: Credentials is nil: a signature needs credentials")
	case o.CA != "" && o.Transport != nil:
		return errors.New("opensearch: CA and Transport are both given: let Transport trust the authority")
	case o.Timeout < 0 || o.BulkBytes < 0 || o.BulkCount < 0:
		return errors.New("opensearch: Timeout, BulkBytes or BulkCount is negative")
	case o.Mode == Exact && o.Auth == SigV4 && o.Service == Serverless:
		return errors.New(
			"opensearch: Mode: exact needs a stored script, and OpenSearch Serverless stores none: use mode: fast, whose order within one second is that of one worker")
	}
	return nil
}

// serverURL parses the address of a server. Its errors do not show the address, which may contain a
// password.
func serverURL(s string) (*url.URL, error) {
	if s == "" {
		return nil, errors.New("it is empty: give the address of the server")
	}
	u, err := url.Parse(s)
	isAddress := err == nil && u.Host != "" && (u.Scheme == "http" || u.Scheme == "https")
	switch {
	case !isAddress:
		return nil, errors.New("it is not the address of a server, such as https://search.example.com:9200")
	case u.User != nil:
		return nil, errors.New("it holds a user: give User and Password instead")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("it holds a query or a fragment: give the address of the server alone")
	}
	return u, nil
}
