package opensearch

import (
	"fmt"

	"github.com/tablewake/tablewake/sinks/search"
)

// Store writes to the indexes of one server. It is safe for concurrent use.
type Store struct {
	mode   Mode
	client *client
	limits limits
	script string // its id

	buffers   buffers
	installed install
}

var _ search.Store = (*Store)(nil)

// New makes a store. It sends nothing.
func New(o Options) (*Store, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	c, err := newClient(o)
	if err != nil {
		return nil, fmt.Errorf("opensearch: %w", err)
	}
	return &Store{mode: o.Mode, client: c, limits: newLimits(o.BulkBytes, o.BulkCount), script: scriptID()}, nil
}

// Close lets go of idle connections. It does not wait for calls under way; a second
// call does nothing.
func (s *Store) Close() error {
	s.client.close()
	return nil
}
