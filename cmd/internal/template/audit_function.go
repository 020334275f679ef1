package template

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/policy"
)

// Audited reports whether a function can audit the configuration. The file must have exactly one source table and a
// sink that can be compared.
func (t functionTemplate) Audited() bool {
	return len(t.Config.Source.Tables) == 1 && len(t.AuditSinks()) > 0
}

// AuditSinks returns the names of the sinks that an audit can compare with the table. It leaves out aggregates that
// keep expired items, because no audit of them would be complete: the table no longer has these items.
func (t functionTemplate) AuditSinks() (names []string) {
	for _, k := range t.Config.Sinks {
		isComparedAggregate := k.Aggregate != nil && !k.Aggregate.KeepOnTTL
		if k.View != nil || k.Search != nil || isComparedAggregate {
			names = append(names, k.Name)
		}
	}
	return names
}

// AuditEvent returns the event that requests an audit. The arguments are texts, because a template can write references
// in place of numbers.
func (t functionTemplate) AuditEvent(sample, segments, units, lag string) string {
	return fmt.Sprintf(`{"tablewake":"audit","sample":%s,"segments":%s,"rcu":%s,"lag":"%s","sinks":["%s"]}`, sample,
		segments, units, lag, strings.Join(t.AuditSinks(), `","`))
}

// auditRights returns the rights of the function that audits. They are the rights of the command audit without two:
// only the command reads exports and the leases of consumers.
func auditRights(cfg *config.Config, o policy.Options) []policy.Statement {
	o.Runner = policy.Audit
	return slices.DeleteFunc(policy.Statements(cfg, o), func(s policy.Statement) bool {
		return s.Sid == "ExportObjects" || s.Sid == "ExportBucket" || s.Sid == "Leases"
	})
}
