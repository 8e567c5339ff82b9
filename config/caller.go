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
			c.Operations = patterns(list)
		}
		b.cfg.Callers[name] = c
	})
}

func patterns(list *value) []effects.Pattern {
	patterns := make([]effects.Pattern, 0, len(list.items))
	for _, text := range texts(list) {
		patterns = append(patterns, effects.Pattern(text))
	}
	return patterns
}
