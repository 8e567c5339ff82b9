package strictjson

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func digits(data []byte, i int) int {
	for i < len(data) && isDigit(data[i]) {
		i++
	}
	return i
}

// number returns the offset behind the number that begins at data[i].
func number(data []byte, i int) (int, *SyntaxError) {
	if data[i] == '-' {
		i++
	}
	whole := i
	if i = digits(data, i); i == whole {
		return i, fail(i, "a number lacks digits")
	}
	if data[whole] == '0' && i > whole+1 {
		return whole, fail(whole, "a number begins with a superfluous 0")
	}
	if i < len(data) && data[i] == '.' {
		fraction := i + 1
		if i = digits(data, fraction); i == fraction {
			return i, fail(i, "a number lacks digits behind its point")
		}
	}
	if i < len(data) && data[i]|0x20 == 'e' {
		i++
		if i < len(data) && (data[i] == '+' || data[i] == '-') {
			i++
		}
		exponent := i
		if i = digits(data, i); i == exponent {
			return i, fail(i, "a number lacks digits in its exponent")
		}
	}
	return i, nil
}

// HugeNumber finds the first number in a valid text that takes more than maxDigits digits
// when written out without an exponent. Exact arithmetic on such a number, 1e999999999
// for one, costs memory and time without bound. The pointer is a JSON pointer to it.
func HugeNumber(data []byte, maxDigits int) (pointer string, found bool) {
	for i := 0; i < len(data); {
		switch c := data[i]; {
		case c == '"':
			i = skipQuoted(data, i)
		case c == '-' || isDigit(c):
			end, _ := number(data, i)
			if isHuge(data[i:end], maxDigits) {
				return PointerTo(data, i), true
			}
			i = max(end, i+1)
		default:
			i++
		}
	}
	return "", false
}

// isHuge adds the digits before the exponent and the exponent's size. The sum can't
// overflow, since an exponent past maxDigits grows no further.
func isHuge(number []byte, maxDigits int) bool {
	mantissa := len(number)
	exponent := 0
	for i, c := range number {
		switch {
		case c|0x20 == 'e':
			mantissa = i
		case i > mantissa && isDigit(c) && exponent <= maxDigits:
			exponent = exponent*10 + int(c-'0')
		}
	}
	return mantissa+exponent > maxDigits
}
