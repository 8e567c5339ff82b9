package config

import (
	"errors"
	"regexp"
	"slices"
	"strings"
	"unicode"
)

// issued matches tokens by the marks that their issuers give them, at the start of a word.
var issued = regexp.MustCompile(`(?:^|[^A-Za-z0-9_-])(?:` + strings.Join([]string{
	`sk-[A-Za-z0-9_-]{8,}`, `[sr]k_(?:live|test)_[A-Za-z0-9]{6,}`, `gh[pousr]_[A-Za-z0-9]{6,}`, `github_pat_[A-Za-z0-9_]{6,}`,
	`glpat-[A-Za-z0-9_-]{6,}`, `xox[abeoprs]-[A-Za-z0-9-]{6,}`, `xapp-[A-Za-z0-9-]{6,}`, `(?:AKIA|ASIA)[A-Z0-9]{12,}`,
	`AIza[A-Za-z0-9_-]{20,}`, `ya29\.[A-Za-z0-9_-]{10,}`, `eyJ[A-Za-z0-9_-]{8,}`, `npm_[A-Za-z0-9]{20,}`, `hf_[A-Za-z0-9]{20,}`,
	`SG\.[A-Za-z0-9_-]{16,}`, `dop_v1_[a-f0-9]{16,}`, `whsec_[A-Za-z0-9]{10,}`, `pypi-[A-Za-z0-9_-]{40,}`,
	`tvly-[A-Za-z0-9-]{10,}`, `lin_api_[A-Za-z0-9]{10,}`, `sbp_[a-f0-9]{20,}`,
}, "|") + `)|-----BEGIN [A-Z ]*PRIVATE KEY`)

// literal reports whether text holds a token that bears its issuer's mark.
func literal(text string) bool { return issued.MatchString(text) }

// opaque reports whether a run of letters and digits is too disordered to be a word:
// digits and letters alternate as they do in random text. Runs shorter than least pass.
func opaque(text string, least int) bool {
	for run := range strings.FieldsFuncSeq(text, func(c rune) bool {
		return c > unicode.MaxASCII || !unicode.IsLetter(c) && !unicode.IsDigit(c)
	}) {
		if len(run) >= least && disordered(run) {
			return true
		}
	}
	return false
}

// disordered reports whether letters and digits, or capitals and small letters, change
// places too often, or digits are too many, for anything that a person named.
func disordered(run string) bool {
	digits, changes, cases := 0, 0, 0
	for i := range len(run) {
		if isDigit(run[i]) {
			digits++
		}
		if i > 0 && isDigit(run[i]) != isDigit(run[i-1]) {
			changes++
		} else if i > 0 && (run[i] >= 'a') != (run[i-1] >= 'a') {
			cases++
		}
	}
	return digits >= 3 && changes >= 4 || len(run) >= 24 && digits >= len(run)/4 || len(run) >= 20 && cases*5 >= len(run)*2
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

// mixed reports whether text has capitals, small letters and digits.
func mixed(text string) bool {
	return strings.ContainsFunc(text, unicode.IsUpper) && strings.ContainsFunc(text, unicode.IsLower) && strings.ContainsAny(text, "0123456789")
}

var variable = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

const variablePattern = `^[A-Za-z_][A-Za-z0-9_]*$`

// checkVariable returns why text can't be the name of an environment variable. It never
// quotes the text: what stands in place of a name may be the secret itself.
func checkVariable(text string) error {
	switch {
	case literal(text) || opaque(text, 16):
		return errors.New("this looks like a secret, not like the name of a variable: put it into a variable, and write that variable's name")
	case strings.HasPrefix(text, "$"):
		return errors.New("write the variable's name alone, without $ or braces")
	case !variable.MatchString(text):
		return errors.New("this is no variable name: values never stand here, write the name of a host variable, such as MY_TOKEN")
	case len(text) > 128:
		return errors.New("a variable name has at most 128 bytes")
	}
	return nil
}

var (
	secretWord  = regexp.MustCompile(`(?i)(?:^|[-_.])(?:token|api[-_]?key|apikey|access[-_]?key|secret[-_]?key|private[-_]?key|secret|password|passwd|passphrase|pwd|pat|bearer|authorization)$`)
	secretCamel = regexp.MustCompile(`[a-z0-9](?:Token|ApiKey|APIKey|AccessKey|SecretKey|Secret|Password)$`)
	secretEnv   = regexp.MustCompile(`^(?:-e ?|--env=)?[A-Z][A-Z0-9_]*(?:KEY|TOKEN|SECRET|PASSWORD|PASSWD|PAT|CREDENTIALS?)=(.+)$`)
	secretQuery = regexp.MustCompile(`(?i)(?:^|[-_.])(?:key|auth|sig|signature|credential|credentials|code|jwt|session)$`)
	bearer      = regexp.MustCompile(`(?i)(?:\bbearer|\bbasic)\s+[A-Za-z0-9._~+/=-]{6,}`)
	headerValue = regexp.MustCompile(`(?i)(?:^|=)(?:proxy-)?(?:authorization|cookie|[a-z0-9-]*(?:token|api-?key|secret))\s*:\s*[^\s$]`)
	assignment  = regexp.MustCompile(`^-{0,2}([A-Za-z0-9][A-Za-z0-9_.-]*)=(.*)$`)
	userinfo    = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://[^/@\s]*:[^/@\s$]+@`)
	placeholder = regexp.MustCompile(`^(?:\$\{?[A-Za-z_:-]|%[A-Za-z_]+%$|<.*>$)`)
	harmless    = regexp.MustCompile(`^(?:|true|false|none|null|yes|no|[0-9]{1,6}|-|stdin)$`)
	pathLike    = regexp.MustCompile(`^(?:\.{0,2}/|~/|[A-Za-z]:\\)|\.(?:pem|key|json|ya?ml|txt|toml|env|crt)$`)
	flagSyntax  = regexp.MustCompile(`^-{1,2}([A-Za-z0-9][A-Za-z0-9_.-]*)$`)
)

// secretArgs returns the indexes of the arguments that look like secrets.
func secretArgs(args []string) []int {
	var found []int
	for i, arg := range args {
		flag := i > 0 && flagSyntax.MatchString(args[i-1]) && secretName(args[i-1]) && !strings.HasPrefix(arg, "-")
		if flag && secretValue(arg) || secretArg(arg) {
			found = append(found, i)
		}
	}
	return found
}

// secretName reports whether a flag or parameter is called like a secret.
func secretName(name string) bool {
	return secretWord.MatchString(name) || secretCamel.MatchString(name)
}

func secretArg(arg string) bool {
	if m := assignment.FindStringSubmatch(arg); m != nil && secretName(m[1]) && secretValue(m[2]) {
		return true
	}
	if m := secretEnv.FindStringSubmatch(arg); m != nil && secretValue(m[1]) {
		return true
	}
	if strings.Contains(arg, ";") && slices.ContainsFunc(strings.Split(arg, ";"), secretSetting) {
		return true
	}
	header := headerValue.MatchString(arg) && !strings.Contains(arg, "${")
	return literal(arg) || bearer.MatchString(arg) || header || userinfo.MatchString(arg) ||
		mixed(arg) && !strings.ContainsAny(arg, `/\. `) && opaque(arg, 24)
}

// secretSetting reports whether a part of a connection string, such as Password=..., is a secret.
func secretSetting(part string) bool {
	m := assignment.FindStringSubmatch(strings.TrimSpace(part))
	return m != nil && secretName(m[1]) && secretValue(m[2])
}

// secretValue reports whether what stands after a flag such as --token may be the secret
// itself, rather than a reference to it, a number or a path.
func secretValue(text string) bool {
	return !placeholder.MatchString(text) && !harmless.MatchString(strings.ToLower(text)) && !pathLike.MatchString(text)
}

// secretParameter reports whether a URL's parameter looks like a secret.
func secretParameter(name, text string) bool {
	return text != "" && (secretName(name) || secretQuery.MatchString(name) || literal(text) || opaque(text, 20))
}

const secretArgSay = "this argument looks like a secret: pass it in env, by the name of a variable; arguments are visible to every process"
