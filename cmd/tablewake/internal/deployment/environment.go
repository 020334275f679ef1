package deployment

import (
	"regexp"
	"slices"
	"strings"
)

// Variable is a variable of the environment that a file reads.
type Variable struct {
	Name   string
	Value  string // as YAML of a template
	Secret bool   // a secret's key reads it: Value is ssm:NAME
	SSM    string // the parameter's name, where Secret is set
}

var (
	variable = regexp.MustCompile(`(^|[^$])\$\{([A-Za-z_][A-Za-z0-9_]*)(:-[^}]*)?\}`)
	secret   = regexp.MustCompile(`\b(hmac_key|password)\s*:`)
)

// EnvironmentOf are the variables that a file reads, in its order, as a function's
// environment: as they are now where getenv knows them, and a secret as the reference
// ssm:/tablewake/PIPELINE/NAME, whatever it is now.
func EnvironmentOf(file []byte, pipeline string, getenv func(string) (string, bool)) []Variable {
	var vs []Variable
	for line := range strings.Lines(string(file)) {
		if strings.HasPrefix(strings.TrimSpace(line), "#") {
			continue
		}
		for _, at := range variable.FindAllStringSubmatchIndex(line, -1) {
			name := line[at[4]:at[5]]
			hidden := secret.MatchString(line[:at[4]])
			i := slices.IndexFunc(vs, func(v Variable) bool { return v.Name == name })
			if i < 0 {
				vs = append(vs, Variable{Name: name})
				i = len(vs) - 1
			}
			vs[i].Secret = vs[i].Secret || hidden
			if value, set := getenv(name); set {
				vs[i].Value = yamlText(value)
			}
		}
	}
	vs = slices.DeleteFunc(vs, func(v Variable) bool { return v.Value == "" && !v.Secret }) // it has a default
	for i := range vs {
		if vs[i].Secret {
			vs[i].SSM = "/tablewake/" + pipeline + "/" + vs[i].Name
			vs[i].Value = "ssm:" + vs[i].SSM
		}
	}
	return vs
}
