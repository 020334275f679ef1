// Package s3 keeps an archive's objects in a bucket of S3, or of a server that
// speaks it.
//
// An object appears whole or not at all, and never over another: every write is
// conditional (If-None-Match: *), and a server that does not take conditions is
// refused before the first object. The server verifies a CRC32C of each request's
// body. Objects above [Options.PartBytes] are sent in parts at once. What is read back is read
// to its end though connections break.
//
// Server faults are marked for the pipeline: throttling and outages transient, missing
// rights and a missing bucket fatal with what to do. No error holds text of the server.
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

	"github.com/tablewake/tablewake/sinks/archive"
	"github.com/tablewake/tablewake/sinks/state"
)

// Options describe a store.
type Options struct {
	Client *s3.Client // required
	Bucket string     // required

	// Folder is the literal beginning of the sink's object names, "changes/": what
	// the store keeps beside them (fingerprints, a probe) stands below it, so
	// that rights on it are enough. Default: the root of the bucket.
	Folder string

	StorageClass string // of the objects. Default: the server's, STANDARD
	KMSKey       string // id or ARN of the key that encrypts the objects. Default: the bucket's encryption

	PartBytes int64         // objects above it are sent in parts of it; at least 5 MiB, and more where that would be over 10,000 parts. Default: 16 MiB
	Parallel  int           // parts of one object that are sent at once. Default: 4
	Stalled   time.Duration // how long a body may bring nothing while it is read, before it is asked for anew. Default: 30s
}

// Store is the objects of one bucket. It is safe for concurrent use, also by
// several processes.
type Store struct {
	client *s3.Client
	o      Options
	proven chan bool // holds whether the server is known to take conditions
}

var (
	_ archive.Remover    = (*Store)(nil)
	_ archive.Tagger     = (*Store)(nil)
	_ archive.Identifier = (*Store)(nil)
	_ archive.Ranger     = (*Store)(nil)
	_ state.Fingerprints = (*Store)(nil)
)

const (
	minPart  = 5 << 20 // S3 takes no smaller part but the last
	maxParts = 10_000
)

// New checks the options; it calls nothing yet. The error names the option.
func New(o Options) (*Store, error) {
	o.PartBytes, o.Parallel, o.Stalled = cmp.Or(o.PartBytes, 16<<20), cmp.Or(o.Parallel, 4), cmp.Or(o.Stalled, 30*time.Second)
	switch {
	case o.Client == nil:
		return nil, errors.New("archive: Client is nil: give an S3 client")
	case o.Bucket == "":
		return nil, errors.New("archive: Bucket is empty: name the bucket of the objects")
	case o.PartBytes < minPart:
		return nil, fmt.Errorf("archive: PartBytes is %d: give %d or more", o.PartBytes, minPart)
	case o.Parallel < 0 || o.Stalled < 0:
		return nil, fmt.Errorf("archive: Parallel or Stalled is negative: %d, %v", o.Parallel, o.Stalled)
	case o.StorageClass != "" && !slices.Contains(types.StorageClass("").Values(), types.StorageClass(o.StorageClass)):
		return nil, fmt.Errorf("archive: StorageClass %q is none of S3", o.StorageClass)
	}
	s := &Store{client: o.Client, o: o, proven: make(chan bool, 1)}
	s.proven <- false
	return s, nil
}

// own is the name of what the store keeps beside the objects.
func (s *Store) own(name string) string { return s.o.Folder + archive.Fingerprints + "/" + name }

// isOwn tells whether a name is of what some store keeps beside objects.
func isOwn(name string) bool { return strings.Contains("/"+name, "/"+archive.Fingerprints+"/") }

// patient has the SDK try longer, in calls that no pipeline stands behind.
func patient(o *s3.Options) { o.RetryMaxAttempts = max(o.RetryMaxAttempts, 8) }
