package template

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/policy"
)

// domain is an Amazon OpenSearch domain whose name is not in the endpoint of its connection, as with a custom endpoint.
// ARNs of its documents have a placeholder.
type domain struct {
	Connection string
	Parameter  string // name of the parameter of SAM
	name       string // name in the ARNs of package policy
}

// Placeholder returns the placeholder for the name in policies: DOMAIN, or DOMAIN-ORDERS if several domains have no
// name.
func (d domain) Placeholder() string {
	return strings.ToUpper(strings.TrimSuffix("DOMAIN-"+strings.TrimPrefix(d.Parameter, domainParameter), "-"))
}

// domainParameter is the name of a parameter, or its beginning if there are several.
const domainParameter = "OpenSearchDomain"

// nameDomains returns the domains, and a configuration in whose ARNs each of them has a name of its own. package policy
// writes DOMAIN for all of them, and no domain name has capital letters.
func nameDomains(cfg *config.Config) (*config.Config, []domain) {
	named := *cfg
	named.Connections = slices.Clone(cfg.Connections)
	var all []domain
	ids := make(logicalIDs)
	for i, c := range cfg.Connections {
		alone := *cfg
		alone.Sinks = slices.DeleteFunc(slices.Clone(cfg.Sinks),
			func(s config.Sink) bool { return s.Search == nil || s.Search.Connection != c.Name })
		if !hasDomainARN(policy.Statements(&alone, policy.Options{}), "DOMAIN") {
			continue
		}
		d := domain{Connection: c.Name, Parameter: ids.add(domainParameter, c.Name), name: fmt.Sprint("DOMAIN-", i)}
		named.Connections[i].OpenSearch = "https://search-" + d.name + "-0.region.es.amazonaws.com"
		all = append(all, d)
	}
	if len(all) == 1 {
		all[0].Parameter = domainParameter
	}
	return &named, all
}

// hasDomainARN reports whether a statement has an ARN of the domain.
func hasDomainARN(ss []policy.Statement, name string) bool {
	return slices.ContainsFunc(ss, func(s policy.Statement) bool {
		return slices.ContainsFunc(s.Resources, func(arn string) bool { return strings.Contains(arn, ":domain/"+name+"/") })
	})
}

// referDomains replaces the names of domains in ARNs by references to them.
func referDomains(ss []policy.Statement, domains []domain, refer func(domain) string) []policy.Statement {
	for _, d := range domains {
		for _, s := range ss {
			for i, arn := range s.Resources {
				s.Resources[i] = strings.ReplaceAll(arn, ":domain/"+d.name+"/", ":domain/"+refer(d)+"/")
			}
		}
	}
	return ss
}
