//! The letters behind a key, or before all keys: `b d f g h i M n r V`.

use std::str::FromStr;

/// How a key is ordered, or all keys that do not say it themselves: letters as in GNU sort.
///
/// | letter | means |
/// |---|---|
/// | `b` | blanks at the beginning do not count |
/// | `d`, `i` | only blanks, letters and digits count; only printable characters count |
/// | `f` | small letters are as large ones |
/// | `g` | numbers such as 1e10, 0x1f, inf |
/// | `h` | numbers such as 2K, 1G |
/// | `M` | JAN to DEC |
/// | `n` | decimal numbers |
/// | `r` | reversed |
/// | `V` | versions: numbers inside of texts |
///
/// ```
/// use eagre::records::TextOptions;
///
/// let options: TextOptions = "nr".parse()?;
/// assert_eq!("rn".parse(), Ok(options));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextOptions {
    /// Whether blanks count where the key begins, and where it ends.
    pub(super) start_blanks: bool,
    pub(super) end_blanks: bool,
    pub(super) dictionary: bool,
    pub(super) printable: bool,
    pub(super) fold: bool,
    pub(super) general: bool,
    pub(super) human: bool,
    pub(super) month: bool,
    pub(super) numeric: bool,
    pub(super) version: bool,
    pub(super) reverse: bool,
}

/// To which end of a key a `b` belongs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum End {
    First,
    Last,
    Both,
}

impl TextOptions {
    /// Adds what a letter means.
    ///
    /// # Errors
    /// One line: it means nothing.
    pub(super) fn set(&mut self, letter: char, end: End) -> Result<(), String> {
        match letter {
            'b' => {
                self.start_blanks |= end != End::Last;
                self.end_blanks |= end != End::First;
            }
            'd' => self.dictionary = true,
            'f' => self.fold = true,
            'g' => self.general = true,
            'h' => self.human = true,
            'i' => self.printable = true,
            'M' => self.month = true,
            'n' => self.numeric = true,
            'r' => self.reverse = true,
            'V' => self.version = true,
            'R' => return Err("there is no random order (R)".to_owned()),
            other => return Err(format!("'{}' is none of the options b d f g h i M n r V", other.escape_debug())),
        }
        Ok(())
    }

    /// Adds what `more` has.
    pub(super) fn add(&mut self, more: TextOptions) {
        self.start_blanks |= more.start_blanks;
        self.end_blanks |= more.end_blanks;
        self.dictionary |= more.dictionary;
        self.printable |= more.printable;
        self.fold |= more.fold;
        self.general |= more.general;
        self.human |= more.human;
        self.month |= more.month;
        self.numeric |= more.numeric;
        self.version |= more.version;
        self.reverse |= more.reverse;
    }

    /// Whether a key with these options is ordered as one without, if not reversed.
    pub(super) fn is_plain(self) -> bool {
        TextOptions { reverse: false, ..self } == TextOptions::default()
    }

    /// That no two options ask for different orders.
    ///
    /// # Errors
    /// One line, with the letters.
    pub(super) fn check(self) -> Result<(), String> {
        let ignores = self.dictionary || self.printable;
        let orders = [self.numeric, self.general, self.human, self.month, self.version || ignores];
        if orders.into_iter().filter(|&order| order).count() <= 1 {
            return Ok(());
        }
        let letters = [
            (self.dictionary, 'd'),
            (self.fold, 'f'),
            (self.general, 'g'),
            (self.human, 'h'),
            (self.printable && !self.dictionary, 'i'),
            (self.month, 'M'),
            (self.numeric, 'n'),
            (self.version, 'V'),
        ];
        let letters: String = letters.into_iter().filter(|(set, _)| *set).map(|(_, letter)| letter).collect();
        Err(format!("options '-{letters}' are incompatible"))
    }
}

impl FromStr for TextOptions {
    type Err = String;

    fn from_str(letters: &str) -> Result<TextOptions, String> {
        let mut options = TextOptions::default();
        letters.chars().try_for_each(|letter| options.set(letter, End::Both))?;
        Ok(options)
    }
}
