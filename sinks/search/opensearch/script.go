package opensearch

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"sync"
)

// script is what an exact write does on the server, in one step with the write:
// the document replaces what is there where its version is newer. Versions are texts
// of one width, so they compare as texts. A document of the same version stands for
// ever: the same change wrote it. What carries no version is nobody's, and is replaced.
const script = `def own = ctx._source._tw;
def there = own instanceof Map ? own.version : null;
if (there instanceof String && there.compareTo(params.doc._tw.version) >= 0) { ctx.op = 'none' } else { ctx._source = params.doc }`

// scriptID names the script by its source: what has a name is never altered, so
// that workers of two releases can write side by side.
func scriptID() string {
	sum := sha256.Sum256([]byte(script))
	return "tablewake-" + hex.EncodeToString(sum[:])[:16]
}

// install remembers whether the script is on the server.
type install struct {
	mu   sync.Mutex
	done bool
}

// ensureScript installs the script, once.
func (s *Store) ensureScript(ctx context.Context) error {
	s.installed.mu.Lock()
	defer s.installed.mu.Unlock()
	if s.installed.done {
		return nil
	}
	body, err := json.Marshal(map[string]any{"script": map[string]string{"lang": "painless", "source": script}})
	if err != nil {
		return err
	}
	a, err := s.client.do(ctx, http.MethodPut, "/_scripts/"+scriptID(), body)
	if err != nil {
		return err
	}
	if !a.ok() {
		return a.failure("install the script", "")
	}
	s.installed.done = true
	return nil
}

// scriptGone learns that the server does not have the script any more.
func (s *Store) scriptGone() {
	s.installed.mu.Lock()
	defer s.installed.mu.Unlock()
	s.installed.done = false
}
