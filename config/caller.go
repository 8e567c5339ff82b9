package config

import "github.com/cupule/cupule/effects"

func (b *builder) callers(v *value) {
	b.cfg.Callers = map[string]*Caller{}
	each(v, func(name string, entry *value) {
		c := &Caller{
			Name: name, At: entry.key, TokenEnv: entry.get("token_env").string(),
			Offline: entry.get("offline").bool(),
			Timeout: duration(entry.get("timeout"), 0), MaxOutput: bytesOf(entry.get("max_output"), 0),
		}
		if authorize := entry.get("authorize"); authorize != nil {
			c.Authorize = authorize.set
		}
		if list := entry.get("operations"); list != nil {
			c.Operations = b.patterns(list)
		}
		b.cfg.Callers[name] = c
	})
}

func (b *builder) patterns(list *value) []effects.Pattern {
	patterns := make([]effects.Pattern, 0, len(list.items))
	seen := map[string]bool{}
	for _, item := range list.items {
		switch {
		case item == nil:
		case seen[item.text]:
			b.report(item.at, item.path, "%s stands twice: remove one", clip(item.text))
		default:
			seen[item.text] = true
			patterns = append(patterns, effects.Pattern(item.text))
		}
	}
	return patterns
}
