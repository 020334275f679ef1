package opensearch

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/tablewake/tablewake/pipeline"
	"github.com/tablewake/tablewake/pipeline/redact"
)

// script makes the writes of mode exact on the server. The new document replaces the stored document if its version is
// newer and the births (the ids of the outputs) are the same. Texts of versions sort as the versions do
// (record.Version.String). If the versions are equal, the same change wrote the stored document, and the stored
// document stays. There is one exception: a new document that is not void replaces a stored void tombstone. A stored
// document without a version was not written by tablewake, and is replaced.
const script = `def own = ctx._source._tw;
def there = own instanceof Map ? own.version : null;
def order = there instanceof String ? there.compareTo(params.doc._tw.version) : -1;
if (order == 0 && own['void'] == true && params.doc._tw['void'] != true) { order = -1 }
if (order >= 0 || there instanceof String && own.birth != params.doc._tw.birth) { ctx.op = 'none' } else { ctx._source = params.doc }`

// scriptID is the name of the script. It contains a hash of the source, so another source gets another name. A stored
// script is never altered, and consumers of two releases can write at the same time.
var scriptID = fmt.Sprintf("tablewake-%.8x", sha256.Sum256([]byte(script)))

// ensureScript installs the script once, and checks that the server has the same source
// under its name.
func (s *Store) ensureScript(ctx context.Context) error {
	if s.installed.Load() {
		return nil
	}
	s.installing.Lock()
	defer s.installing.Unlock()
	if s.installed.Load() {
		return nil
	}

	found, err := s.readScript(ctx)
	if err == nil && !found {
		err = s.installScript(ctx)
	}
	s.installed.Store(err == nil)
	return err
}

// installScript installs the script, and reads it back.
func (s *Store) installScript(ctx context.Context) error {
	if err := s.putScript(ctx); err != nil {
		return err
	}
	found, err := s.readScript(ctx)
	if err == nil && !found {
		err = pipeline.Transient(errs.Errorf("opensearch: the stored script %s was installed and is not there",
			redact.Safe(scriptID)))
	}
	return err
}

const painless = "painless"

// storedScript is a script in the server's form.
type storedScript struct {
	Lang   string `json:"lang"`
	Source string `json:"source"`
}

// readScript reports whether the script is stored. It returns a fatal error if another script is stored under its name.
func (s *Store) readScript(ctx context.Context) (found bool, err error) {
	a, err := s.client.do(ctx, http.MethodGet, "/_scripts/"+scriptID, nil)
	if err != nil {
		return false, err
	}
	var stored struct {
		Found  *bool        `json:"found"`
		Script storedScript `json:"script"`
	}
	known := json.Unmarshal(a.body, &stored) == nil && stored.Found != nil
	switch {
	case a.status == http.StatusNotFound && known:
		return false, nil
	case !a.succeeded() || !known:
		return false, noScripts(a.asError("read the stored script", ""))
	case stored.Script != (storedScript{painless, script}):
		return false, pipeline.Fatal(
			errs.Errorf(
				"opensearch: the stored script %s was altered on the server: delete it (DELETE _scripts/%[1]s), and it is installed again", redact.Safe(scriptID)))
	}
	return true, nil
}

func (s *Store) putScript(ctx context.Context) error {
	body, err := json.Marshal(map[string]storedScript{"script": {Lang: painless, Source: script}})
	if err != nil {
		return err
	}
	a, err := s.client.do(ctx, http.MethodPut, "/_scripts/"+scriptID, body)
	if err != nil || a.succeeded() {
		return err
	}
	return noScripts(a.asError("install the stored script", ""))
}

// noScripts adds a hint to the error of a server that stores no scripts, and makes it fatal. Such a server forbids
// scripts or, like OpenSearch Serverless, does not know the request. Retryable errors stay as they are.
func noScripts(err error) error {
	if _, again := pipeline.Retryable(err); again {
		return err
	}
	if e, ok := errors.AsType[*Error](err); ok && e.Status/100 == 4 {
		e.Hint = "the server keeps no stored scripts, or not from this user: allow them (script.allowed_types: stored, or the permission cluster:admin/script/*), or use mode: fast, whose order within one second is that of one worker"
		return pipeline.Fatal(e)
	}
	return err
}
