package config

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"

	"gopkg.in/yaml.v3"
)

// isText reports whether a scalar is text in YAML 1.2: a plain date is, unlike in YAML 1.1.
func isText(n *yaml.Node) bool {
	return n.Kind == yaml.ScalarNode && (n.Tag == "!!str" || n.Tag == "!!timestamp" || n.Tag == "!!merge")
}

// scalar reads text, a flag or a number into v.
func (r *reader) scalar(n *yaml.Node, s *shape, v *value) bool {
	if n.Kind != yaml.ScalarNode || isNull(n) {
		return r.wrong(n, s, v.path)
	}
	switch s.kind {
	case kindFlag:
		return r.flag(n, s, v)
	case kindCount:
		return r.count(n, s, v)
	case kindSeconds:
		return r.seconds(n, s, v)
	}
	if !isText(n) {
		return r.notText(n, s, v)
	}
	v.text = n.Value
	if s.kind == kindSize {
		return r.size(s, v)
	}
	return r.text(s, v)
}

func (r *reader) notText(n *yaml.Node, s *shape, v *value) bool {
	if s.kind == kindSize && decimalInteger.MatchString(n.Value) && n.Value[0] != '0' && n.Value[0] != '-' {
		r.report(v.at, v.path, "a size needs a unit: write %sB, or a larger unit as in 256KB", clip(n.Value))
		return false
	}
	return r.wrong(n, s, v.path)
}

// text checks what is read against the rules for it.
func (r *reader) text(s *shape, v *value) bool {
	switch {
	case literal(v.text):
		r.report(v.at, v.path, "this looks like a secret: keep it in an environment variable, and write that variable's name where a name is due")
	case v.text == "" && !s.empty:
		r.report(v.at, v.path, "must be %s, not empty", s.says)
	case strings.ContainsFunc(v.text, func(c rune) bool { return unicode.IsControl(c) && (!s.multiline || c != '\n' && c != '\t') }):
		r.report(v.at, v.path, "holds a control character: remove it")
	case s.enum != nil && !slices.Contains(s.enum, v.text):
		r.notAmong(v, s.enum)
	default:
		return r.checked(s, v)
	}
	return false
}

func (r *reader) checked(s *shape, v *value) bool {
	if s.check == nil {
		return true
	}
	if err := s.check(v.text); err != nil {
		r.report(v.at, v.path, "%s", err)
		return false
	}
	return true
}

func (r *reader) notAmong(v *value, allowed []string) {
	r.report(v.at, v.path, "%q is not known here%s: write one of %s",
		clip(v.text), strings.TrimSuffix(r.suggest(v.text, slices.Values(allowed)), "?"), strings.Join(allowed, ", "))
}

func (r *reader) flag(n *yaml.Node, s *shape, v *value) bool {
	if n.Tag != "!!bool" {
		return r.wrong(n, s, v.path)
	}
	v.flag = strings.EqualFold(n.Value, "true")
	return true
}

var (
	decimalInteger = regexp.MustCompile(`^-?(0|[1-9][0-9]*)$`)
	decimal        = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)
	withUnit       = regexp.MustCompile(`^([0-9]+(?:\.[0-9]+)?) ?[A-Za-z]+$`)
)

func (r *reader) count(n *yaml.Node, s *shape, v *value) bool {
	if n.Tag != "!!int" || !decimalInteger.MatchString(n.Value) {
		return r.noNumber(n, s, v)
	}
	number, err := strconv.ParseInt(n.Value, 10, 64)
	if err != nil || number < s.min || number > s.max {
		r.report(v.at, v.path, "%s is outside %d to %d", clip(n.Value), s.min, s.max)
		return false
	}
	v.number = number
	return true
}

// noNumber tells a number that is spelled in a way we don't read from any other value.
func (r *reader) noNumber(n *yaml.Node, s *shape, v *value) bool {
	if n.Tag == "!!int" || n.Tag == "!!float" {
		r.report(v.at, v.path, "must be %s in plain decimal digits, not %s", s.says, clip(n.Value))
		return false
	}
	if m := withUnit.FindStringSubmatch(n.Value); m != nil && s.kind == kindSeconds {
		r.report(v.at, v.path, "must be %s without a unit, such as 30 or 1.5, not %q", s.says, clip(n.Value))
		return false
	}
	return r.wrong(n, s, v.path)
}

func (r *reader) seconds(n *yaml.Node, s *shape, v *value) bool {
	if n.Tag != "!!int" && n.Tag != "!!float" || !decimal.MatchString(n.Value) {
		return r.noNumber(n, s, v)
	}
	d, err := time.ParseDuration(n.Value + "s")
	switch {
	case err == nil && d == 0 && strings.ContainsAny(n.Value, "123456789"):
		r.report(v.at, v.path, "%s is too small: write at least 0.000000001", clip(n.Value))
	case strings.HasPrefix(n.Value, "-") || err == nil && d == 0:
		r.report(v.at, v.path, "must be %s above 0, not %s", s.says, clip(n.Value))
	case err != nil || int64(d) > s.max:
		r.report(v.at, v.path, "%s is above the %v seconds that are allowed at most", clip(n.Value), time.Duration(s.max).Seconds())
	default:
		v.number = int64(d)
		return true
	}
	return false
}

func (r *reader) size(s *shape, v *value) bool {
	n, err := ParseSize(v.text)
	if err == nil && n > s.max {
		err = fmt.Errorf("%s is above the %s that are allowed at most", clip(v.text), sizeText(s.max))
	}
	if err != nil {
		r.report(v.at, v.path, "%s", err)
		return false
	}
	v.number = n
	return true
}
