package template

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/policy"
)

// Audited reports whether a function can audit the configuration: an audit compares one table.
func (t functionTemplate) Audited() bool {
	return len(t.Config.Source.Tables) == 1 && len(t.AuditSinks()) > 0
}

// AuditSinks returns the names of the sinks that can be compared. An aggregate that keeps expired items cannot be
// compared completely, so no audit of it would be complete.
func (t functionTemplate) AuditSinks() (names []string) {
	for _, k := range t.Config.Sinks {
		if k.View != nil || k.Search != nil || k.Aggregate != nil && !k.Aggregate.KeepOnTTL {
			names = append(names, k.Name)
		}
	}
	return names
}

// AuditEvent returns the event that requests an audit, with numbers and the lag as they are written in a template.
func (t functionTemplate) AuditEvent(sample, segments, units, lag string) string {
	return fmt.Sprintf(`{"tablewake":"audit","sample":%s,"segments":%s,"rcu":%s,"lag":"%s","sinks":["%s"]}`, sample,
		segments, units, lag, strings.Join(t.AuditSinks(), `","`))
}

// auditRights returns the rights of the function that audits: the rights of the command, without those for exports and
// for the leases of consumers, which only the command reads.
func auditRights(cfg *config.Config, o policy.Options) []policy.Statement {
	o.Runner = policy.Audit
	return slices.DeleteFunc(policy.Statements(cfg, o), func(s policy.Statement) bool {
		return s.Sid == "ExportObjects" || s.Sid == "ExportBucket" || s.Sid == "Leases"
	})
}
