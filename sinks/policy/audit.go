package policy

import (
	"cmp"
	"slices"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/pipeline/item"
)

// auditsLetters is the reason why an audit may read dead letters.
const auditsLetters = "dead letters explain differences; they are read, and stay"

// audit adds the rights to compare sinks with their tables. These rights allow no writes. A repair needs the rights of
// the runner, too.
func (w *writer) audit() {
	w.auditSource()
	bucket := cmp.Or(w.o.ExportBucket, "EXPORT-BUCKET")
	w.allow("ExportObjects", "--export reads an export", []string{"s3:GetObject"}, w.bucket(bucket, "/*"))
	w.allow("ExportBucket", "the export is found by its prefix", []string{"s3:ListBucket"}, w.bucket(bucket, ""))
	if l := w.cfg.Leases; l != nil && l.Table.Name != "" {
		w.allow("Leases", "it sees how far consumers are", readLeaseActions, w.table(l.Table))
	}
	inStateTable := w.auditSinks(nil)
	w.deadLetters()
	if w.cfg.State == nil {
		return
	}
	table := w.table(w.cfg.State.Table)
	w.allow("State", "what sinks remember of items: the rows of this pipeline", auditStateActions, table)
	w.setConditions(leadingKeys(w.rowPrefix() + "#*")...)
	w.allow("StateTable", "the table is looked for at the start", stateTableActions, table)
	if inStateTable {
		w.auditState()
	}
}

// addRepair adds the rights that on_gap: repair needs and a consumer does not have. They allow it to compare sinks with
// the table by a scan.
func (w *writer) addRepair() {
	if w.o.Runner != Consumer || w.cfg.Source.OnGap != config.OnGapRepair {
		return
	}
	audit := writer{o: w.o, cfg: w.cfg}
	audit.o.Runner = Audit
	audit.auditSource()
	if audit.auditSinks(w.cfg.Source.RepairSinks) && w.cfg.State != nil {
		audit.auditState()
	}
	audit.deadLetters()
	for _, s := range audit.ss {
		s.Sid, s.Why = "Repair"+s.Sid, s.Why+" (on_gap: repair)"
		w.ss = append(w.ss, s)
	}
}

// auditSource adds the rights to read the items of the source table.
func (w *writer) auditSource() {
	w.allow("SourceTable", "items are read, all of them and one by one", auditActions, w.sourceTables()...)
}

// auditSinks adds the rights to read the contents of the named sinks; all sinks if names is empty. remembers is true if
// a part of the contents is in the state table.
func (w *writer) auditSinks(names []string) (inStateTable bool) {
	for _, s := range w.cfg.Sinks {
		switch {
		case len(names) > 0 && !slices.Contains(names, s.Name):
		case s.View != nil:
			w.allow(sid("view", s.Name), "rows are read", auditActions, w.table(s.View.Table))
			inStateTable = inStateTable || !s.View.RowsGuardThemselves()
		case s.Aggregate != nil:
			w.allow(sid("aggregate", s.Name), "rows of groups are read", auditActions, w.table(s.Aggregate.Table))
			inStateTable = true
		case s.Search != nil:
			w.auditSearch(s)
		}
	}
	return inStateTable
}

// auditState adds the right to list the rows that sinks have in the state table.
func (w *writer) auditState() {
	w.allow("StateScan",
		"what sinks remember is listed: no condition on keys limits a Scan, which reads the rows of all pipelines",
		statePurgeActions, w.table(w.cfg.State.Table))
}

// auditSearch adds the rights to read documents. They include posts, because a search and a scroll are posts.
func (w *writer) auditSearch(s config.Sink) {
	at, ok := w.domainPath(s)
	if !ok {
		return
	}
	paths, one := w.indexPaths(s, at)
	w.allow(sid("search", s.Name), "documents are read", auditIndexActions, paths...)
	if !one {
		w.allow(sid("search", s.Name, "several"),
			"documents of several indexes: the request's body names them, which no policy sees", bulkActions, at("/_mget"))
	}
	w.allow(sid("search", s.Name, "scroll"), "documents are listed page by page: the path of a page names no index",
		scrollActions, at("/_search/scroll"))
	record := "/tablewake/_doc/" + w.rowPrefix() + "," + string(item.AppendEscaped(nil, s.Name))
	w.allow(sid("search", s.Name, "record"), "the record of the sink's settings and birth",
		slices.Clone(auditIndexActions[:1]), at("/tablewake"), at(record))
}
