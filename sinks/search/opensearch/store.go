package opensearch

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/tablewake/tablewake/sinks/search"
)

// Store writes to the indexes of one server. It is safe for concurrent use.
type Store struct {
	mode   Mode
	client *client
	limits limits
	clock  func() time.Time

	indexes    *indexes // nil if the store creates no indexes
	bulkPath   string
	serverless bool

	installed  atomic.Bool // the script is known to be on the server
	installing sync.Mutex
}

var _ search.Store = (*Store)(nil)

// New returns a store without sending a request. [Store.Open] prepares the server.
func New(o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c, err := newClient(o)
	if err != nil {
		return nil, fmt.Errorf("opensearch: %w", err)
	}
	s := &Store{mode: o.Mode, client: c, limits: limits{bytes: o.BulkBytes, window: o.BulkBytes, count: o.BulkCount},
		clock: o.Clock, bulkPath: bulkPath, serverless: o.Service == Serverless}
	if o.Indexes != nil {
		if s.indexes, err = newIndexes(*o.Indexes); err != nil {
			return nil, fmt.Errorf("opensearch: %w", err)
		}
		if !s.serverless {
			s.bulkPath += "&require_alias=true" // so that the server does not create an index by itself
		}
	}
	return s, nil
}

// Close closes idle connections. It does not wait for running calls. A second
// call does nothing.
func (s *Store) Close() error {
	s.client.close()
	return nil
}
