package config

import (
	"fmt"
	"slices"
	"strings"

	"github.com/tablewake/tablewake/pipeline/config/yamlbind"
	"github.com/tablewake/tablewake/pipeline/entity"
	"github.com/tablewake/tablewake/pipeline/internal/nearest"
	"github.com/tablewake/tablewake/pipeline/item"
)

// undeclaredMessage returns the message and the hint for a name that the file does not declare.
func (c *checker) undeclaredMessage(u *entity.Undeclared) (message, hint string) {
	message, hint = wrongKindMessage(u, fmt.Sprintf("%s is declared %s", u.Path, u.Kind))
	if message != "" {
		return message, hint
	}
	isTopLevel := u.Path == ""
	if isTopLevel {
		message = yamlbind.Quoted(u.Name) + " is not among the declared attributes"
		hint = c.declareHintAnywhere("S", u.Name)
	} else {
		message = fmt.Sprintf("%s is declared without %s", u.Path, yamlbind.Quoted(u.Name))
		hint = fmt.Sprintf("add `%s: S` (or its type) to %s", u.Name, u.Path)
	}
	near, boundHint := nearest.Name(u.Name, u.Known), c.boundHint(u.Name)
	switch {
	case isTopLevel && u.Name == "item":
		hint = "item.PATH is written only beside `of`: write the attribute alone. Or " + hint
	case isTopLevel && boundHint != "":
		hint = boundHint + ". Or " + hint
	case near != "":
		hint = "did you mean " + near + "? Or " + hint
	}
	return message, hint
}

// wrongKindMessage returns the message and the hint for a path into a value whose type has no elements or members.
// declared describes the type of the value. message is "" if the type can have members.
func wrongKindMessage(u *entity.Undeclared, declared string) (message, hint string) {
	switch {
	case u.Name == "":
		return declared + ", and has no such elements", "name what is declared there"
	case u.Path != "" && len(u.Known) == 0:
		return declared + ", and has no " + u.Name, "name the attribute itself, or declare it as M"
	}
	return "", ""
}

// declareHintAnywhere returns a hint to declare an attribute where the file already declares attributes.
func (c *checker) declareHintAnywhere(kind, name string) string {
	place := "`attributes`"
	if len(c.cfg.Attributes) == 0 {
		place = "the attributes of its entity"
	}
	return fmt.Sprintf("add `%s: %s` (or its type) to %s", name, kind, place)
}

// undeclaredInScope returns the message and the hint for a name that the entities of a scope do not declare.
func (c *checker) undeclaredInScope(u *entity.Undeclared, sc *entity.Scope) (message, hint string) {
	message, hint = wrongKindMessage(u, fmt.Sprintf("%s is of type %s in %s", u.Path, u.Kind, sc))
	if message != "" {
		return message, hint
	}
	hint = declareHint(sc, u.Path, u.Name)
	if isMember := u.Path != ""; isMember {
		message = fmt.Sprintf("%s has no %s in %s", u.Path, yamlbind.Quoted(u.Name), sc)
		if near := nearest.Name(u.Name, u.Known); near != "" {
			hint = "did you mean " + near + "? Or " + hint
		}
		return message, hint
	}

	message = fmt.Sprintf("%s is no attribute of %s", yamlbind.Quoted(u.Name), sc)
	if nameHint := bindingHint(sc, u.Name); nameHint != "" {
		return message, nameHint
	}
	known := slices.Clone(u.Known)
	for _, b := range sc.Bindings() {
		known = append(known, b.Name())
	}
	if near := nearest.Name(u.Name, known); near != "" {
		return message, "did you mean " + near + "? Or " + hint
	}
	if other := c.declaredBy(u.Name); other != "" {
		return message, other + " has it. Or " + hint
	}
	return message, hint
}

// bindingHint returns the hint for a name that a key of the scope binds. It returns "" if no key binds the name.
func bindingHint(sc *entity.Scope, name string) string {
	if sc.Binding(name) != nil {
		return "write " + name + " alone, which is the name that the key binds"
	}
	for _, e := range sc.Entities() {
		if slices.Contains(e.Names(), name) {
			return "the key of " + e.Name +
				" binds it, and a rule about several entities can read only what all of them bind alike: write one for each"
		}
	}
	return ""
}

// declaredBy returns the name of the only entity that declares an attribute. It returns "" if none or several do.
func (c *checker) declaredBy(attribute string) string {
	var entities []string
	for _, e := range c.entitySet().All() {
		if e.Attributes != nil && e.Attributes.Member(attribute) != nil {
			entities = append(entities, e.Name)
		}
	}
	if len(entities) != 1 {
		return ""
	}
	return entities[0]
}

// builtinNames are names that templates read with an @, such as {@key}. People often forget the @.
var builtinNames = []string{"key", "version", "time", "table", "entity"}

// refineHint returns a better hint for an undeclared name if the name is a typical mistake. Otherwise it returns hint.
func (n *nameCheck) refineHint(v *value, u *entity.Undeclared, hint string) string {
	if u.Path != "" {
		return hint
	}
	isTemplate := templateOf(v) != nil
	canReadElement := v.Name != "index" && v.Name != "routing"
	switch {
	case isTemplate && (u.Name == "new" || u.Name == "old"):
		return "write the path without " + u.Name + ".: a template reads one item"
	case isTemplate && slices.Contains(builtinNames, u.Name):
		return "write {@" + u.Name + "}. Or " + hint
	case canReadElement && slices.Contains(n.elementNames(), u.Name):
		path := "each." + u.Name
		if isTemplate {
			path = "{" + path + "}"
		}
		return "write " + path + " for that of the element"
	case v.Name == "sum" && !isTemplate: // hint proposes to declare an S, and a sum needs an N
		return strings.Replace(hint, ": S` (or its type)", ": N`", 1)
	}
	return hint
}

// elementNames returns the names that the elements of for_each declare.
func (n *nameCheck) elementNames() []string {
	p, err := item.ParsePattern(n.eachPattern)
	if err != nil {
		return nil
	}
	noName := item.Segment{Index: -1} // no shape has it, so the result lists the names that exist
	u := entity.FirstUndeclared(n.shapes, slices.Concat(p.Segments(), []item.Segment{noName}))
	if u == nil {
		return nil
	}
	return u.Known
}
