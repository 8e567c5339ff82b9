package effects

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"math/bits"
	"strings"
)

// Effect is one thing that a call may do to the world. The zero Effect is none of them.
type Effect uint8

// The effects, in canonical order.
const (
	// NetworkRead reads from the network. It is denied when the invocation is offline.
	NetworkRead Effect = iota + 1
	// Mutation changes something outside the process. It needs authorization.
	Mutation
	// Inference runs or pays for model inference. It needs authorization.
	Inference
	// Credentials obtains or reveals credentials. It is always denied.
	Credentials
	// Process starts programs on the caller's behalf. It is always denied.
	Process

	last = Process
)

var effectNames = [last + 1]string{
	NetworkRead: "network_read",
	Mutation:    "mutation",
	Inference:   "inference",
	Credentials: "credentials",
	Process:     "process",
}

// All returns every effect in canonical order.
func All() iter.Seq[Effect] {
	return func(yield func(Effect) bool) {
		for e := NetworkRead; e <= last; e++ {
			if !yield(e) {
				return
			}
		}
	}
}

// Parse returns the effect with this name, such as "network_read".
func Parse(name string) (Effect, error) {
	for e := range All() {
		if effectNames[e] == name {
			return e, nil
		}
	}
	return 0, fmt.Errorf("unknown effect %q: write one of %s", name, everything)
}

// String returns the effect's name as configuration spells it.
func (e Effect) String() string {
	if e == 0 || e > last {
		return fmt.Sprintf("effect(%d)", uint8(e))
	}
	return effectNames[e]
}

// MarshalText writes the effect's name.
func (e Effect) MarshalText() ([]byte, error) { return []byte(e.String()), nil }

// UnmarshalText reads an effect's name.
func (e *Effect) UnmarshalText(text []byte) error {
	parsed, err := Parse(string(text))
	if err != nil {
		return err
	}
	*e = parsed
	return nil
}

// Set is a set of effects. The zero Set is empty. Sets compare with ==.
type Set uint8

const (
	everything  = Set(1<<last - 1)
	unavailable = Set(1<<(Credentials-1) | 1<<(Process-1))
	authorized  = Set(1<<(Mutation-1) | 1<<(Inference-1))
	networkRead = Set(1 << (NetworkRead - 1))
)

// NewSet returns the set of these effects. A value that is no effect is left out.
func NewSet(list ...Effect) Set {
	var s Set
	for _, e := range list {
		s |= Set(1) << (e - 1) & everything
	}
	return s
}

// ParseSet returns the set of the effects with these names.
func ParseSet(names ...string) (Set, error) {
	var s Set
	var errs []error
	for _, name := range names {
		e, err := Parse(name)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		s |= NewSet(e)
	}
	if len(errs) > 0 {
		return 0, errors.Join(errs...)
	}
	return s, nil
}

// Has reports whether e is in the set.
func (s Set) Has(e Effect) bool { return e != 0 && s&NewSet(e) != 0 }

// Covers reports whether every effect of other is in s.
func (s Set) Covers(other Set) bool { return other&^s == 0 }

// Union returns the effects that are in s or other.
func (s Set) Union(other Set) Set { return s | other }

// Intersect returns the effects that are in both.
func (s Set) Intersect(other Set) Set { return s & other }

// Minus returns the effects of s that are not in other.
func (s Set) Minus(other Set) Set { return s &^ other }

// Len returns the number of effects in the set.
func (s Set) Len() int { return bits.OnesCount8(uint8(s)) }

// All returns the effects of the set in canonical order.
func (s Set) All() iter.Seq[Effect] {
	return func(yield func(Effect) bool) {
		for e := range All() {
			if s.Has(e) && !yield(e) {
				return
			}
		}
	}
}

// Names returns the names of the effects in canonical order; it is never nil.
func (s Set) Names() []string {
	names := make([]string, 0, s.Len())
	for e := range s.All() {
		names = append(names, e.String())
	}
	return names
}

// String returns the names joined with ", ", or "none".
func (s Set) String() string {
	if s == 0 {
		return "none"
	}
	return strings.Join(s.Names(), ", ")
}

// MarshalText writes the names joined with commas; the empty set is the empty text.
func (s Set) MarshalText() ([]byte, error) { return []byte(strings.Join(s.Names(), ",")), nil }

// UnmarshalText reads names joined with commas, blanks around them allowed. Empty text is the empty set.
func (s *Set) UnmarshalText(text []byte) error {
	if len(strings.TrimSpace(string(text))) == 0 {
		*s = 0
		return nil
	}
	var names []string
	for name := range strings.SplitSeq(string(text), ",") {
		names = append(names, strings.TrimSpace(name))
	}
	return s.set(names)
}

// MarshalJSON writes an array of names in canonical order.
func (s Set) MarshalJSON() ([]byte, error) { return json.Marshal(s.Names()) }

// UnmarshalJSON reads an array of names. null is refused: an empty array says that there are none.
func (s *Set) UnmarshalJSON(data []byte) error {
	var names []string
	if err := json.Unmarshal(data, &names); err != nil {
		return fmt.Errorf("effects: write a list of names: %w", err)
	}
	return s.set(names)
}

// MarshalYAML writes a list of names in canonical order.
func (s Set) MarshalYAML() (any, error) { return s.Names(), nil }

// UnmarshalYAML reads a list of names. null is refused.
func (s *Set) UnmarshalYAML(unmarshal func(any) error) error {
	var names []string
	if err := unmarshal(&names); err != nil {
		return fmt.Errorf("effects: write a list of names: %w", err)
	}
	return s.set(names)
}

func (s *Set) set(names []string) error {
	if names == nil {
		return errors.New("effects: null says nothing, write [] for none")
	}
	parsed, err := ParseSet(names...)
	if err != nil {
		return err
	}
	*s = parsed
	return nil
}
