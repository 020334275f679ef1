package template

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/policy"
)

// Audited reports whether a function can audit the configuration: an audit compares one table.
func (s sam) Audited() bool { return len(s.Config.Source.Tables) == 1 && len(s.AuditSinks()) > 0 }

// AuditSinks returns the names of the sinks that can be compared. An aggregate that keeps expired items cannot be compared
// completely, so that no audit of it would be complete.
func (s sam) AuditSinks() (names []string) {
	for _, k := range s.Config.Sinks {
		if k.View != nil || k.Search != nil || k.Aggregate != nil && !k.Aggregate.KeepOnTTL {
			names = append(names, k.Name)
		}
	}
	return names
}

// AuditEvent returns the event that requests an audit, with numbers and the lag as they are written in a template.
func (s sam) AuditEvent(sample, segments, units, lag string) string {
	return fmt.Sprintf(`{"tablewake":"audit","sample":%s,"segments":%s,"rcu":%s,"lag":"%s","sinks":["%s"]}`, sample, segments, units, lag, strings.Join(s.AuditSinks(), `","`))
}

// auditRights returns the rights of the function that audits: those of the command, without what only the command reads,
// exports and the leases of consumers.
func auditRights(cfg *config.Config, o policy.Options) []policy.Statement {
	o.Runner = policy.Audit
	return slices.DeleteFunc(policy.Statements(cfg, o), func(s policy.Statement) bool {
		return s.Sid == "ExportObjects" || s.Sid == "ExportBucket" || s.Sid == "Leases"
	})
}

// AuditAlarms returns the alarms on the metrics of audits.
func (s sam) AuditAlarms() []alarm {
	return []alarm{
		{ID: "SinksDiffer", Metric: "tablewake.audit.differences", Periods: 1, Told: true, Description: "A sample of the table differs from the sinks. The log of Audit lists the entries; `tablewake audit --live` compares everything, and repairs it with --repair."},
		{ID: "NotAudited", Metric: "tablewake.audit.complete", Periods: 2, Missing: true, Description: "No audit was complete for two days. The log of Audit says why: it failed, its time was over, or entries could not be compared. Choose a smaller sample or more read units."},
	}
}
