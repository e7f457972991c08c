//! Our own word lists: names are made of a beginning and an ending, which gives many of them.

/// Beginnings of names of people and places.
pub const HEADS: [&str; 32] = [
    "Al", "Ber", "Cor", "Dar", "El", "Fen", "Gar", "Hol", "Is", "Jor", "Kel", "Lan", "Mar", "Nor", "Os", "Pel", "Quin",
    "Ros", "Sel", "Tor", "Ul", "Var", "Wes", "Yor", "Zan", "Bran", "Clar", "Dun", "Ever", "Fal", "Grim", "Har",
];

/// Endings of names of people.
pub const TAILS: [&str; 31] = [
    "a", "an", "ard", "bert", "by", "da", "den", "dra", "er", "eth", "fer", "gan", "ia", "in", "ius", "ka", "la",
    "len", "man", "mund", "na", "ne", "old", "on", "ra", "ric", "sen", "ta", "ton", "vin", "wyn",
];

/// Endings of names of towns.
pub const TOWNS: [&str; 16] = [
    "borough", "bridge", "bury", "cliff", "dale", "field", "ford", "gate", "ham", "haven", "hill", "mouth", "port",
    "stead", "ton", "wick",
];

/// Endings of names of counties.
pub const COUNTIES: [&str; 3] = ["land", "shire", " County"];

/// Countries.
pub const COUNTRIES: [&str; 79] = [
    "Albania",
    "Algeria",
    "Argentina",
    "Armenia",
    "Australia",
    "Austria",
    "Azerbaijan",
    "Bahrain",
    "Bangladesh",
    "Belgium",
    "Bolivia",
    "Brazil",
    "Bulgaria",
    "Cameroon",
    "Canada",
    "Chile",
    "China",
    "Colombia",
    "Croatia",
    "Cuba",
    "Cyprus",
    "Denmark",
    "Ecuador",
    "Egypt",
    "Estonia",
    "Ethiopia",
    "Fiji",
    "Finland",
    "France",
    "Georgia",
    "Germany",
    "Ghana",
    "Greece",
    "Guatemala",
    "Honduras",
    "Hungary",
    "Iceland",
    "India",
    "Indonesia",
    "Ireland",
    "Israel",
    "Italy",
    "Jamaica",
    "Japan",
    "Jordan",
    "Kenya",
    "Kuwait",
    "Latvia",
    "Lebanon",
    "Lithuania",
    "Luxembourg",
    "Malaysia",
    "Malta",
    "Mexico",
    "Morocco",
    "Nepal",
    "Netherlands",
    "Nigeria",
    "Norway",
    "Oman",
    "Pakistan",
    "Panama",
    "Paraguay",
    "Peru",
    "Philippines",
    "Poland",
    "Portugal",
    "Romania",
    "Senegal",
    "Singapore",
    "Slovakia",
    "Slovenia",
    "Spain",
    "Sweden",
    "Switzerland",
    "Thailand",
    "Tunisia",
    "Turkey",
    "Uruguay",
];

/// Languages with territories in which they are spoken.
pub const LANGUAGES: [(&str, &str); 8] = [
    ("us", "America"),
    ("gb", "Britain"),
    ("d", "Germany"),
    ("f", "France"),
    ("e", "Spain"),
    ("i", "Italy"),
    ("nl", "Netherlands"),
    ("ja", "Japan"),
];

/// Classes of customers; most customers have the first.
pub const CLASSES: [&str; 5] = ["Occasional", "Regular", "Prime", "Business", "Family"];

/// Kinds of delivery; four of seven are the first.
pub const DELIVERIES: [&str; 7] = ["Standard", "Standard", "Standard", "Standard", "Express", "Collection", "Next Day"];

/// Kinds of cards.
pub const CARDS: [&str; 4] = ["Credit", "Debit", "Charge", "Prepaid"];

/// Kinds of products.
pub const GOODS: [&str; 16] = [
    "adapter", "battery", "board", "cable", "camera", "case", "charger", "desk", "display", "drive", "keyboard",
    "lamp", "printer", "router", "scanner", "speaker",
];

/// States of a product.
pub const STATES: [&str; 4] = ["orderable", "planned", "under development", "obsolete"];
