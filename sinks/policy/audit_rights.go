package policy

import (
	"slices"

	"github.com/tablewake/tablewake/pipeline/config"
)

// auditsLetters is the reason why an audit may read dead letters.
const auditsLetters = "dead letters explain differences; they are read, and stay"

// allowAudit adds the rights to compare sinks with their tables. These rights allow no writes. A repair also needs the
// rights of the runner.
func (w *writer) allowAudit() {
	w.allowAuditSource()
	w.allow("ExportObjects", "--export reads an export", []string{"s3:GetObject"}, w.bucket(exportBucket, "/*"))
	w.allow("ExportBucket", "the export is found by its prefix", []string{"s3:ListBucket"}, w.bucket(exportBucket, ""))
	if l := w.cfg.Leases; l != nil && l.Table.Name != "" {
		w.allow("Leases", "it sees how far consumers are", readLeaseActions, w.table(l.Table))
	}
	w.allowAuditSinks(nil)
	w.allowDeadLetters()
	if w.cfg.State == nil {
		return
	}
	table := w.table(w.cfg.State.Table)
	w.allow("State", "what sinks remember of items: the rows of this pipeline", auditStateActions, table)
	w.setConditions(leadingKeys(w.rowPrefix() + "#*")...)
	w.allow("StateTable", "the table is looked for at the start", stateTableActions, table)
	if w.auditsState(nil) {
		w.allowAuditState()
	}
}

// allowRepair adds the rights that on_gap: repair needs and a consumer does not have. These rights let the consumer
// compare sinks with the table by a scan.
func (w *writer) allowRepair() {
	if w.options.Runner != Consumer || w.cfg.Source.OnGap != config.OnGapRepair {
		return
	}
	audit := writer{options: w.options, cfg: w.cfg}
	audit.options.Runner = Audit
	audit.allowAuditSource()
	audit.allowAuditSinks(w.cfg.Source.RepairSinks)
	if w.cfg.State != nil && audit.auditsState(w.cfg.Source.RepairSinks) {
		audit.allowAuditState()
	}
	audit.allowDeadLetters()
	for _, s := range audit.statements {
		s.Sid, s.Why = "Repair"+s.Sid, s.Why+" (on_gap: repair)"
		w.statements = append(w.statements, s)
	}
}

// allowAuditSource adds the rights to read the items of the source table.
func (w *writer) allowAuditSource() {
	w.allow("SourceTable", "items are read, all of them and one by one", auditActions, w.sourceTables()...)
}

// allowAuditSinks adds the rights to read the contents of the named sinks; all sinks if names is empty.
func (w *writer) allowAuditSinks(names []string) {
	for _, s := range w.cfg.Sinks {
		switch {
		case !isAudited(s, names):
		case s.View != nil:
			w.allow(sid("view", s.Name), "rows are read", auditActions, w.table(s.View.Table))
		case s.Aggregate != nil:
			w.allow(sid("aggregate", s.Name), "rows of groups are read", auditActions, w.table(s.Aggregate.Table))
		case s.Search != nil:
			w.allowAuditSearch(s)
		}
	}
}

// auditsState reports whether a part of the contents of the named sinks is in the state table.
func (w *writer) auditsState(names []string) bool {
	return slices.ContainsFunc(w.cfg.Sinks, func(s config.Sink) bool {
		isPartlyInState := s.View != nil && !s.View.RowsGuardThemselves() || s.Aggregate != nil
		return isAudited(s, names) && isPartlyInState
	})
}

func isAudited(s config.Sink, names []string) bool {
	return len(names) == 0 || slices.Contains(names, s.Name)
}

// allowAuditState adds the right to list the rows that sinks have in the state table.
func (w *writer) allowAuditState() {
	w.allow("StateScan",
		"what sinks remember is listed: no condition on keys limits a Scan, which reads the rows of all pipelines",
		statePurgeActions, w.table(w.cfg.State.Table))
}

// allowAuditSearch adds the rights to read documents. They include posts, because a search and a scroll are posts.
func (w *writer) allowAuditSearch(s config.Sink) {
	domain, ok := w.allowConnection(s)
	if !ok {
		return
	}
	w.allow(sid("search", s.Name), "documents are read", auditIndexActions, indexARNs(s, domain)...)
	if !hasSingleIndex(s) {
		w.allow(sid("search", s.Name, "several"),
			"documents of several indexes: the request's body names them, which no policy sees", bulkActions, domain+"/_mget")
	}
	w.allow(sid("search", s.Name, "scroll"), "documents are listed page by page: the path of a page names no index",
		scrollActions, domain+"/_search/scroll")
	w.allow(sid("search", s.Name, "record"), "the record of the sink's settings and birth",
		slices.Clone(auditIndexActions[:1]), domain+"/tablewake", domain+w.recordPath(s))
}
