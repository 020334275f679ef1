// Package s3 stores an archive's objects in a bucket of S3, or of a server with its API.
//
// An object appears completely or not at all. Every write has a condition. Put requires that no object of the name
// exists (If-None-Match: *). Replace requires that the object has not changed since it was described (If-Match). If a
// server ignores a condition, the first write that needs the condition fails.
//
// The server verifies a CRC32C of each request's body. Objects above [Options.PartBytes] are sent in concurrent parts.
// Reading continues after a broken connection.
//
// Errors are marked for the pipeline. Throttling and outages are transient. Missing rights and a missing bucket are
// fatal, and their errors say what to do. No error contains text of the server.
package s3

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/tablewake/tablewake/pipeline/awshttp"
	"github.com/tablewake/tablewake/pipeline/redact"
	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/state"
)

// errs makes the errors of this package. Their redacted text holds no data.
const errs = redact.Class("archive")

// Options configure a store.
type Options struct {
	Client *s3.Client // required
	Bucket string     // required

	// Folder is the constant beginning of the sink's object names, such as "changes/". The store's own objects,
	// fingerprints and a probe, are below this folder. So rights on this folder are enough. Default: the root of the
	// bucket.
	Folder string

	StorageClass string // storage class of the objects. Default: the default of the server, usually STANDARD
	KMSKey       string // id or ARN of the key that encrypts the objects. Default: the bucket's encryption

	// PartBytes is the size of the parts of larger objects, at least 5 MiB. It is raised for an object that would have
	// over 10,000 parts. Default: 16 MiB
	PartBytes int64
	Parallel  int           // number of concurrent parts of an object. Default: 4
	Stalled   time.Duration // time without a byte after which a read opens a new connection. Default: 30s

	// OnRetry is called when a read broke off with err and continues after wait. It may be called concurrently.
	// Default: not called
	OnRetry func(err error, wait time.Duration)
}

// Store implements [archive.Lister] for a bucket. It is safe for concurrent use, also by several processes.
type Store struct {
	client          *s3.Client
	o               Options
	noneMatchProven chan bool // holds one value: true if the server has proved that it obeys If-None-Match
	matchProven     chan bool // the same for If-Match
}

var (
	_ archive.Remover    = (*Store)(nil)
	_ archive.Tagger     = (*Store)(nil)
	_ archive.Replacer   = (*Store)(nil)
	_ archive.Ranger     = (*Store)(nil)
	_ state.Fingerprints = (*Store)(nil)
)

const (
	minPartBytes = 5 << 20 // S3's minimum, except for the last part
	maxParts     = 10_000
)

// New checks the options, and returns a store. It makes no calls. Its error names the wrong option.
func New(o Options) (*Store, error) {
	o.PartBytes = cmp.Or(o.PartBytes, 16<<20)
	o.Parallel = cmp.Or(o.Parallel, 4)
	o.Stalled = cmp.Or(o.Stalled, 30*time.Second)
	if o.OnRetry == nil {
		o.OnRetry = func(error, time.Duration) {}
	}
	switch {
	case o.Client == nil:
		return nil, errors.New("archive: Client is nil: give an S3 client")
	case o.Bucket == "":
		return nil, errors.New("archive: Bucket is empty: name the bucket of the objects")
	case o.PartBytes < minPartBytes:
		return nil, fmt.Errorf("archive: PartBytes is %d: give %d or more", o.PartBytes, minPartBytes)
	case o.Parallel < 0 || o.Stalled < 0:
		return nil, fmt.Errorf("archive: Parallel or Stalled is negative: %d, %v", o.Parallel, o.Stalled)
	case o.StorageClass != "" && !slices.Contains(types.StorageClass("").Values(), types.StorageClass(o.StorageClass)):
		return nil, fmt.Errorf("archive: StorageClass %q is none of S3", o.StorageClass)
	}
	s := &Store{client: o.Client, o: o, noneMatchProven: make(chan bool, 1), matchProven: make(chan bool, 1)}
	s.noneMatchProven <- false
	s.matchProven <- false
	return s, nil
}

// ownName returns the full name of one of the store's own objects.
func (s *Store) ownName(name string) string { return s.o.Folder + archive.Fingerprints + "/" + name }

// isOwn reports whether an object is one of the own objects of a store, whichever store wrote it.
func isOwn(name string) bool { return strings.Contains("/"+name, "/"+archive.Fingerprints+"/") }

// moreRetries makes the SDK retry more often. It is for calls that the pipeline does not retry.
func moreRetries(o *s3.Options) { o.RetryMaxAttempts = max(o.RetryMaxAttempts, 8) }

// verifyAnswer makes the SDK accept only S3's whole answer. It is for calls whose empty answer means that there is
// nothing.
func verifyAnswer(o *s3.Options) { o.HTTPClient = awshttp.VerifyS3(o.HTTPClient) }
