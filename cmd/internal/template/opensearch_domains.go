package template

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config"
	"github.com/tablewake/tablewake/sinks/policy"
)

// domain is an Amazon OpenSearch domain whose name is unknown, because the endpoint of its connection does not contain
// it. An example is a custom endpoint. ARNs in the domain get a placeholder or a reference instead of the name.
type domain struct {
	Connection string
	Parameter  string // name of the SAM parameter with the name of the domain
	name       string // temporary name in ARNs, see nameDomains
}

// Placeholder returns the placeholder for the name of the domain in policies. It is DOMAIN, or for example
// DOMAIN-ORDERS if the names of several domains are unknown.
func (d domain) Placeholder() string {
	return strings.ToUpper(strings.TrimSuffix("DOMAIN-"+strings.TrimPrefix(d.Parameter, domainParameter), "-"))
}

// domainParameter is the name of the parameter for a domain. If there are several domains, the names of their
// parameters begin with it.
const domainParameter = "OpenSearchDomain"

// nameDomains returns the domains with unknown names, and a copy of the configuration that gives each of them a
// different temporary name. Without these names, package policy would write DOMAIN for all of them in ARNs, and they
// could not be distinguished. The temporary names have capital letters, which real names cannot have.
func nameDomains(cfg *config.Config) (*config.Config, []domain) {
	named := *cfg
	named.Connections = slices.Clone(cfg.Connections)
	var all []domain
	ids := make(logicalIDs)
	for i, c := range cfg.Connections {
		if !hasUnknownDomain(cfg, c.Name) {
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

// hasUnknownDomain reports whether package policy writes DOMAIN for the domain of a connection.
func hasUnknownDomain(cfg *config.Config, connection string) bool {
	usesOther := func(s config.Sink) bool { return s.Search == nil || s.Search.Connection != connection }
	onlyThis := *cfg
	onlyThis.Sinks = slices.DeleteFunc(slices.Clone(cfg.Sinks), usesOther)
	return hasDomainARN(policy.Statements(&onlyThis, policy.Options{}), "DOMAIN")
}

// hasDomainARN reports whether a statement has an ARN in the domain name.
func hasDomainARN(rights []policy.Statement, name string) bool {
	inDomain := func(arn string) bool { return strings.Contains(arn, ":domain/"+name+"/") }
	return slices.ContainsFunc(rights, func(s policy.Statement) bool { return slices.ContainsFunc(s.Resources, inDomain) })
}

// renameDomains replaces, in the ARNs of rights, the temporary name of each domain by the result of newName.
func renameDomains(rights []policy.Statement, domains []domain, newName func(domain) string) {
	for _, d := range domains {
		for _, s := range rights {
			for i, arn := range s.Resources {
				s.Resources[i] = strings.ReplaceAll(arn, ":domain/"+d.name+"/", ":domain/"+newName(d)+"/")
			}
		}
	}
}
