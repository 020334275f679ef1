package template

import (
	"slices"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/policy"
)

// Audited reports whether a function can audit the configuration: an audit compares one table, with sinks that keep state.
func (s sam) Audited() bool {
	return len(s.Config.Source.Tables) == 1 && slices.ContainsFunc(s.Config.Sinks, func(k config.Sink) bool {
		return k.View != nil || k.Aggregate != nil || k.Search != nil
	})
}

// auditRights returns the rights of the function that audits: those of the command, without what only the command reads,
// exports and the leases of consumers.
func auditRights(cfg *config.Config, o policy.Options) []policy.Statement {
	o.Runner = policy.Audit
	return slices.DeleteFunc(policy.Statements(cfg, o), func(s policy.Statement) bool {
		return s.Sid == "ExportObjects" || s.Sid == "ExportBucket" || s.Sid == "Leases"
	})
}

// auditEvent is the default of the event that the function gets.
const auditEvent = `{"tablewake":"audit","sample":1,"segments":100,"rcu":500,"lag":"2m"}`

// AuditAlarms returns the alarms on the metrics of audits.
func (s sam) AuditAlarms() []alarm {
	return []alarm{
		{ID: "SinksDiffer", Metric: "tablewake.audit.differences", Periods: 1, Told: true, Description: "A sample of the table differs from the sinks. The log of Audit lists the entries; `tablewake audit --live` compares everything, and repairs it with --repair."},
		{ID: "NotAudited", Metric: "tablewake.audit.complete", Periods: 2, Missing: true, Description: "No audit was complete for two days. The log of Audit says why: it failed, its time was over, or entries could not be compared. Choose a smaller sample or more read units."},
	}
}
